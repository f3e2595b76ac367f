/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEXT_STACK_LINES_H
#define DP_TEXT_STACK_LINES_H

#include <stdio.h>

#include "report/symbolized.h"

/* A stack for a person to read, a function on each line, as debuggers print it. */
struct stack_lines {
	struct report *report;          /* whose file they go to */
	struct symbolized_stack *stack; /* memory, kept from one stack to the next */
	size_t max; /* the most lines: the middle of a longer stack is left out; 0: no limit */
	/* Writes more about a user frame, at the end of its last function's line; NULL: nothing */
	void (*beside)(void *arg, const struct sample *sample, const struct frame *frame, FILE *to);
	void *arg;
};

/* Prints the stack of a sample, and why it is not complete. 0 or -ENOMEM. */
int stack_lines_print(const struct stack_lines *lines, const struct sample *sample);

/* Prints a name from elsewhere. */
void stack_lines_put_name(const char *name, FILE *to);

#endif
