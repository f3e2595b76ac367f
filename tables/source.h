/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_SOURCE_H
#define DP_TABLES_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/index.h"
#include "go/pclntab.h"
#include "tables/rule_word.h"

/* The sources of an image's rows, by function, in order of addresses. */

/* What is computed once per CIE. */
struct initial {
	struct rule_word word; /* of its initial row */
	uint64_t short_word;
	bool is_short; /* FDEs are tried with word_machine first, from short_word */
};

/* A section with its records, and the position in it; or Go's table with its functions. */
struct source {
	const struct cfi_section *section;
	const struct pclntab *go; /* NULL: a section */
	struct cfi_index index;
	struct initial *initial; /* by CIE */
	size_t next;             /* index of the next FDE */
};

/*
 * Returns 0, -ENOMEM, or an error of cfi_index_init(). A zeroed source may be passed to
 * source_done().
 */
int source_init(struct source *s, const struct cfi_section *section);
/* Go's functions as FDEs, which have their number in the table (cfi_fde.go_function). */
int source_init_go(struct source *s, const struct pclntab *go);
void source_done(struct source *s);

/*
 * Returns an FDE, cut off where the next one starts: where they overlap, the one that starts last
 * applies. False: nothing is left, or it is not between start and end.
 */
bool source_fde(const struct source *s, size_t i, uint64_t start, uint64_t end,
		struct cfi_fde *ret);

#endif
