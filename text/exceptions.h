/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEXT_EXCEPTIONS_H
#define DP_TEXT_EXCEPTIONS_H

#include <stdio.h>

#include "report/frame_values.h"
#include "report/symbolized.h"

/* Exceptions by type, with their messages and most frequent stack, for a report that people read. */
struct exceptions {
	struct exception_type *types;
	size_t n_messages; /* different ones */
};

void exceptions_done(struct exceptions *exceptions);

/* Counts a sample, if it is of an exception, with its message. 0 or -ENOMEM. */
int exceptions_add(struct exceptions *exceptions, const struct sample *sample);

/* Counts a stack, whose labels have the type. symbolized: of that stack. 0 or -ENOMEM. */
int exceptions_add_stack(struct exceptions *exceptions, struct report *report,
			 const struct stack *stack, const struct symbolized_stack *symbolized,
			 const struct value *value, const struct frame_values *values);

/* Writes a section for each type. */
void exceptions_print(struct exceptions *exceptions, FILE *to);

#endif
