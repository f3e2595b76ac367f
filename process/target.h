/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_TARGET_H
#define DP_PROCESS_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "process/process.h"

struct filter;

/* Whom a run is about: processes, threads, all processes, or a command. */
struct target {
	const pid_t *pids;
	size_t n_pids;
	const pid_t *tids;
	size_t n_tids;
	bool all;
	char **command; /* argv, NULL: none */

	bool inherit;          /* the children of processes, and of a command, too */
	struct filter *filter; /* of these, only what passes */
};

/* Records were lost: take in what was started meanwhile. */
int target_look_again(struct process_table *table);

/*
 * Take in what is to be profiled, but for a command: processes and, if the table
 * inherits, all their children; the processes of threads; or all that run and
 * pass the filter. Says what is wrong and returns a negative errno: -ESRCH if a
 * process or thread does not exist, -EPERM if it may not be looked into. Those
 * that were not named, and may not, are left out, with a warning.
 */
int target_add(struct process_table *table, const struct target *target);

/*
 * "python3 (PID 4711)", "3 processes", "all processes", "processes of user x
 * named y" or the command, into buffer; fit for a terminal, whatever the process
 * calls itself.
 */
void target_describe(const struct target *target, char *buffer, size_t size);

/* The process or thread that a run is about, the first of them; 0: it is about no certain one. */
pid_t target_pid(const struct target *target, pid_t launched);

#endif
