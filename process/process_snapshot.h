/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_PROCESS_SNAPSHOT_H
#define DP_PROCESS_PROCESS_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "process/process_table.h"

/*
 * Snapshots of processes: for the kernel, and for samples that were taken before it had one.
 *
 * A snapshot has all mappings. A process may have tens of thousands, and change them all the time. Such processes get
 * new snapshots so rarely that all of them together take a fifth of a CPU. In between, their stacks may end in changed
 * code, and say so.
 */

bool process_is_large(const struct process *process);

/* True if it is time for the kernel to get a new snapshot of a process that has changed. */
bool process_may_publish(const struct process_table *table, const struct process *process,
			 uint64_t now);
/*
 * Makes a snapshot, and publishes it to the kernel. No mapping of the process begins later than now.
 * If there is no room, the kernel is told so, and it is tried again. 0, or what publish() returns.
 */
int process_publish(struct process_table *table, struct process *process, uint64_t now);

/*
 * Makes a snapshot in the pool of the mappings that a process had at a time, for samples taken
 * before the kernel had them. It has no cookies: it is true for that time whatever is in memory
 * now. snapshot_free() frees it. 0, -ENOMEM or -ENOSPC.
 */
int process_snapshot(struct process_table *table, struct process *process, uint64_t time,
		     struct snapshot **ret);
/* The same for a sample. -EAGAIN: it is not the time for one yet, or the mappings are not known. */
int process_look_back(struct process_table *table, struct process *process, uint64_t time,
		      struct snapshot **ret);

#endif
