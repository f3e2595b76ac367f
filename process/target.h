/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_TARGET_H
#define DP_PROCESS_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "process/process_table.h"

struct filter;

/* What to profile: processes, threads, all processes, or a command. */
struct target {
	const pid_t *pids;
	size_t n_pids;
	const pid_t *tids;
	size_t n_tids;
	bool all;
	char **command; /* argv; NULL: none */

	bool inherit;          /* also the children of processes, and of a command */
	struct filter *filter; /* restricts all of these */
};

/* Records were lost: adds what was started meanwhile. */
int target_look_again(struct process_table *table);

/*
 * Adds what is to be profiled except a command: processes and, if the table inherits, all their
 * children; the processes of threads; or all processes that pass the filter. Logs errors and
 * returns a negative errno: -ESRCH if a process or thread does not exist, -EPERM if it may not be
 * read. Processes that were not given by PID and may not be read are skipped with a warning.
 */
int target_add(struct process_table *table, const struct target *target);

/*
 * Describes the target: "python3 (PID 4711)", "3 processes", "all processes", "processes of user x
 * named y" or the command, printable on a terminal whatever the process's name is.
 */
void target_describe(const struct target *target, char *buffer, size_t size);

/* The first process or thread given; 0: none was. */
pid_t target_pid(const struct target *target, pid_t launched);

#endif
