/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEXT_HINTS_H
#define DP_TEXT_HINTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/symbolized.h"

/*
 * How to get missing names, printed once at the end of a report: debug symbols for binaries, and
 * for programs run by a runtime such as node, the option with which it reports its functions.
 */

/* Number of known runtimes, recognised by binaries in stacks: the table in hints.c. */
#define HINT_RUNTIMES 6

struct hints {
	uint64_t n_stacks;
	struct hint_binary *binaries; /* binaries with functions without a name */
	struct hint_runtime {
		const char *name;   /* of its binary; NULL: not seen; lives as long as the module */
		uint64_t value;     /* of stacks with the runtime */
		bool has_functions; /* it reports its program's functions */
	} runtimes[HINT_RUNTIMES];
};

/* What can be done on this machine. */
struct hint_machine {
	bool has_debian;  /* packages have Debian's names */
	bool has_servers; /* servers have been asked already: DEBUGINFOD_URLS is set */
};

void hints_done(struct hints *hints);

/* Counts a stack with its value. 0 or -ENOMEM. */
int hints_add(struct hints *hints, const struct symbolized_stack *stack, uint64_t value);

/* Prints hints that concern at least a hundredth of `all`. */
void hints_print(struct hints *hints, const struct hint_machine *machine, double all, FILE *to);

#endif
