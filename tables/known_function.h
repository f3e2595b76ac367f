/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_KNOWN_FUNCTION_H
#define DP_TABLES_KNOWN_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "known_code.h"
#include "rule.h"

/*
 * Functions whose unwind information is known to be wrong, by their instructions.
 * Go's linker derives it from how far each instruction moves the stack pointer, and
 * so does not see that the hand-written functions of Go's runtime load another stack's
 * pointer, or that nobody has called them.
 */

struct known_function {
	/* Where the rule holds, end exclusive: inside of the function, or from the byte before on */
	uint64_t start, end;
	struct dp_rule rule; /* as rule_set_add() takes it, with its programs */
	struct rule_programs programs;
};

/*
 * Is it one, from `start` to `end`, both inside of the range? In front of it there are
 * `gap` bytes, also of the range, of which the unwind information says nothing.
 */
bool known_function_find(const struct code_range *range, uint64_t gap, uint64_t start, uint64_t end,
			 struct known_function *ret);

#endif
