/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEXT_HOTTEST_H
#define DP_TEXT_HOTTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/frame_values.h"
#include "report/symbolized.h"

/* The heaviest stack of functions, whatever the addresses inside them. */
struct hottest {
	struct hottest_path *paths; /* by their functions */
	struct hottest_function *functions;
	size_t functions_size;
};

struct hottest_function {
	const char *name; /* the report's string */
	uint64_t kind;    /* enum symbolized_kind */
	uint32_t is_inlined, is_near;
	uint64_t value; /* of all stacks with the same functions from the root down to this one */
	struct value_texts *texts; /* of its calls in this stack; NULL: none */
};

void hottest_done(struct hottest *hottest);

/*
 * Counts a stack as its value, with the values of its calls. symbolized: of that stack. 0 or -ENOMEM.
 */
int hottest_add(struct hottest *hottest, struct report *report, const struct stack *stack,
		const struct symbolized_stack *symbolized, const struct value *value,
		const struct frame_values *values);

/*
 * Returns the functions of the heaviest stack from root to leaf, after the process's name, its own
 * value, and the number of functions: 0 if nothing was counted. Valid until hottest_done().
 */
size_t hottest_find(struct hottest *hottest, const struct hottest_function **ret,
		    uint64_t *ret_value);

/* The name for a frame without a function: one per binary. Returns its name or `buffer`. */
const char *hottest_name(const struct symbolized_frame *symbolized, char buffer[FRAME_LABEL_SIZE]);

#endif
