/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_FUNCTION_COUNTS_H
#define DP_REPORT_FUNCTION_COUNTS_H

#include "base/hash.h"
#include "report/report.h"

/* The functions of several profiles, and how much of each they have. */

#define FUNCTION_COUNTS_SIDES 2

/* A function is known by its name and the name of its binary, wherever that lies. */
struct function_row {
	UT_hash_handle hh;
	uint64_t self[FUNCTION_COUNTS_SIDES];  /* events, or nanoseconds */
	uint64_t total[FUNCTION_COUNTS_SIDES]; /* recursion counts once */
	uint64_t last_stack;
	const char *binary; /* in the key; "?": none is known */
	size_t key_size;
	char name[]; /* the key: the name and the binary, each with its zero; fit for a terminal */
};

struct function_counts {
	struct function_row *rows; /* the first of a uthash */
	uint64_t n_stacks;
};

void function_counts_done(struct function_counts *table);

/* A report that adds what it gets to one side of a table. 0 or -ENOMEM. */
int report_functions_new(struct function_counts *table, size_t side,
			 const struct report_context *context, struct report **ret);

#endif
