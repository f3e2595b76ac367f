/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOADER_TARGET_H
#define DP_LOADER_TARGET_H

#include <stddef.h>
#include <sys/types.h>

#include "process.h"

/*
 * Taking in what is to be profiled. Both say what is wrong and return a
 * negative errno: -ESRCH if a process does not exist, -EPERM if it may not be
 * looked into.
 */
/*
 * These processes and all their children. Children that may not be looked
 * into are left out, with a warning.
 */
int target_add_pids(struct process_table *table, const pid_t *pids, size_t n_pids);

/* All processes that run. Those that may not be looked into are left out, with a warning. */
int target_add_all(struct process_table *table);

/*
 * "python3 (PID 4711)", "3 processes", "all processes" or the command, into
 * buffer; fit for a terminal, whatever the process calls itself.
 */
void target_describe(const pid_t *pids, size_t n_pids, char **command, char *buffer, size_t size);

#endif
