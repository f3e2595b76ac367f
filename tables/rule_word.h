/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_RULE_WORD_H
#define DP_TABLES_RULE_WORD_H

#include <stdint.h>

#include "bpf/abi.h"
#include "cfi/row.h"

/*
 * A row as a word of an image (enum dp_form), updated from row to row: most instructions change one
 * register's rule, or the CFA's offset.
 */
struct rule_word {
	uint64_t word;
	uint32_t odd; /* parts that no word can express: a bit for each register, and
	               * CFI_CHANGED_CFA */
};

/*
 * Applies the changes in a row since the last call: bits of CFI_CHANGED(). The first call passes
 * CFI_CHANGED_ALL. The word is the row's rule if `odd` is then 0 and the row is not a signal
 * frame's.
 */
void rule_word_update(struct rule_word *w, const struct cfi_row *row, uint32_t changed);

#endif
