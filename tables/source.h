/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_SOURCE_H
#define DP_TABLES_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/index.h"
#include "go/pclntab.h"
#include "tables/rule_word.h"

/* Where an image's rows come from, function by function, by address. */

/* What is found out once about a CIE. */
struct initial {
	struct rule_word word; /* of its initial row */
	uint64_t short_word;
	bool is_short; /* its FDEs are tried with word_machine, starting from short_word */
};

/* A section, its records, and how far it is read; or Go's table, whose functions they are. */
struct source {
	const struct cfi_section *section;
	const struct pclntab *go; /* NULL: it is a section */
	struct cfi_index index;
	struct initial *initial; /* by CIE */
	size_t next;             /* of the FDEs: those before are done */
};

/* 0, -ENOMEM, or what cfi_index_init() says. A zeroed one may be passed to source_done(), too. */
int source_init(struct source *s, const struct cfi_section *section);
/* Go's functions as if they were FDEs, whose instructions are their numbers in the table. */
int source_init_go(struct source *s, const struct pclntab *go);
void source_done(struct source *s);

/*
 * An FDE, cut off where the next one starts: where they overlap, the one that starts last
 * holds. False: nothing of it is left, or it is not between start and end.
 */
bool source_fde(const struct source *s, size_t i, uint64_t start, uint64_t end,
		struct cfi_fde *ret);

#endif
