/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_FETCH_H
#define DP_PROFILER_FETCH_H

#include <stdbool.h>

struct cpu_budget;
struct debug_queue_counts;
struct names;

/* Messages while debug files are fetched from servers (symbols/debug_server.h). */

/* Call it after sampling: from now on servers may be queried, if the options of names allow it. */
void fetch_begin(struct names *names);
/* Call it after all names are looked up: logs the result, if servers were queried. */
void fetch_end(struct names *names);

/*
 * Replaces both for continuous profiling: to be called before any name is looked up. Files are fetched in the
 * background (symbols/debug_queue.h), and that counts against the budget. 0 or a negative errno.
 */
int fetch_begin_meanwhile(struct names *names, struct cpu_budget *budget,
			  struct debug_queue_counts *counts);

/* What has been logged about the servers so far. */
struct fetch_said {
	bool cannot, fails;
	int file_err;
};

/* Logs what has changed of the servers since the last call. */
void fetch_look(struct names *names, struct fetch_said *said);

#endif
