/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_HOTTEST_H
#define DP_REPORT_HOTTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/symbolized.h"

/* The stack of functions that took the most, whatever the addresses inside of them. */
struct hottest {
	struct hottest_path *paths; /* by their functions */
	struct hottest_function *functions;
	size_t functions_size;
};

struct hottest_function {
	const char *name; /* the report's */
	uint64_t kind;    /* enum symbolized_kind */
	uint64_t is_inlined;
	uint64_t value; /* of all stacks that are the same from the root down to it */
};

void hottest_done(struct hottest *hottest);

/* Count a stack of a process of that name. 0 or -ENOMEM. */
int hottest_add(struct hottest *hottest, struct report *report, const char *comm,
		const struct symbolized_stack *stack, uint64_t value);

/*
 * Its functions from the root to the leaf, behind the name of the process as the first
 * one, what it took itself, and how many these functions are: 0 if nothing was counted.
 * They live until hottest_done().
 */
size_t hottest_find(struct hottest *hottest, const struct hottest_function **ret,
		    uint64_t *ret_value);

/* What code of no known function counts as: one for each binary. Returns its name or `buffer`. */
const char *hottest_name(const struct symbolized_frame *symbolized, char buffer[FRAME_LABEL_SIZE]);

#endif
