/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_FUNCTION_COUNTS_H
#define DP_REPORT_FUNCTION_COUNTS_H

#include "base/hash.h"
#include "report/report.h"

/* The functions of several profiles, and the share of each profile in them. */

/* A function is identified by its name and the name of its binary, in any directory. */
struct function_row {
	UT_hash_handle hh;
	uint64_t self[REPORT_SIDES];  /* events, or nanoseconds */
	uint64_t total[REPORT_SIDES]; /* recursion counts once */
	uint64_t last_stack;
	const char *binary; /* part of the key; "?": not known */
	size_t key_size;
	char name[]; /* the key: name and binary, each zero-terminated; printable on a terminal */
};

struct function_counts {
	struct function_row *rows; /* the first in a uthash */
	uint64_t n_stacks;
};

void function_counts_done(struct function_counts *table);

/* Makes a report that adds its samples to one side of a table. 0 or -ENOMEM. */
int report_functions_new(struct function_counts *table, size_t side,
			 const struct report_context *context, struct report **ret);

#endif
