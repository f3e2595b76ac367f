/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_DECODE_H
#define DP_TABLES_DECODE_H

#include <stdint.h>
#include <stdio.h>

#include "bpf/abi.h"
#include "tables/image.h"

/* What an image says, read back from its packed form. */

struct image_row {
	uint64_t start, end;      /* in the file's own address space, end exclusive */
	struct dp_rule rule;      /* its saves are in the next member */
	struct dp_saves saves;    /* where the frame saved the other callee-saved registers */
	const uint64_t *programs; /* of the image; the rule says where among them */
};

/*
 * Call fn for every row of the image that has a rule, in ascending order,
 * neighbours with the same rule joined. Stops early, with its value, if fn
 * returns other than 0.
 */
int image_for_each_row(const struct image *image, int (*fn)(const struct image_row *row, void *arg),
		       void *arg);

/* What the slots of a dp_rule.saves without DP_SAVES_APART say. */
void saves_from_slots(uint32_t slots, struct dp_saves *ret);

/* As the architecture calls it; never NULL. */
const char *register_name(unsigned int reg);

/*
 * Print a row as one line: `START END CFA ra=RULE fp=RULE`, numbers in hex
 * without 0x. CFA is `REG+N`, `*(REG-K)+M`, `plt(T)`, `exp(OPS)` or `none`;
 * RULE is `c-K` (saved at CFA-K), `s` (same value), `u` (undefined), a register,
 * `*(REG+K)`, `exp(OPS)` or `unknown`. Where the caller's stack pointer is not
 * the CFA, ` sp=RULE` follows. With `regs`, the other callee-saved registers
 * follow as `REG=RULE` for each.
 *
 * OPS are operators in the order in which they are executed, with commas
 * between, each the word that DWARF has for it, but for `REG+K` (push that), `N`
 * (push the number), `+N` (add it) and `cfa` (push the CFA), which a register's
 * rule starts with: `REG+8,REG+0,8,mul,plus,deref,+8`.
 */
void image_row_print(const struct image_row *row, int regs, FILE *to);

/* How the program keeps its labels; "none" if it does not. */
const char *image_labels_word(const struct image *image);
/* Where they are, as OPS; only if there are any. */
void image_labels_print(const struct image *image, FILE *to);

#endif
