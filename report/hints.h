/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_HINTS_H
#define DP_REPORT_HINTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/symbolized.h"

/*
 * What would give names to code that has none, said once at the end of a report: debug symbols of
 * binaries, and for programs that a runtime runs, such as node, what makes it tell their functions.
 */

/* Runtimes that are known by the binaries whose code is in stacks: the table in hints.c. */
#define HINT_RUNTIMES 6

struct hints {
	uint64_t n_stacks;
	struct hint_binary *binaries; /* in whose code there were functions without a name */
	struct hint_runtime {
		const char *
			name; /* of its binary; NULL: it was not met; lives as long as the module */
		uint64_t value;     /* of stacks that it is in */
		bool has_functions; /* it tells those of its program */
	} runtimes[HINT_RUNTIMES];
};

/* What can be done on this machine. */
struct hint_machine {
	bool has_debian;  /* packages are called as Debian calls them */
	bool has_servers; /* debug files were asked for there already: DEBUGINFOD_URLS is set */
};

void hints_done(struct hints *hints);

/* Take note of a stack that took so much. 0 or -ENOMEM. */
int hints_add(struct hints *hints, const struct symbolized_stack *stack, uint64_t value);

/* Say what concerns a hundredth of `all` at least; nothing, if nothing does. */
void hints_print(struct hints *hints, const struct hint_machine *machine, double all, FILE *to);

#endif
