/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_LONG_WALKS_H
#define DP_SAMPLES_LONG_WALKS_H

#include <stdbool.h>
#include <stdint.h>

struct process;
struct process_table;
struct queued;
struct snapshot;
struct unwinder;
struct unwinder_result;

/*
 * Walks that would have taken too long in the kernel (walk_limit) are finished in user space, in a copy of the
 * stack. Anyone can have their program make many of them, so they take a share of the thread's time only.
 * Zeroed, it is ready.
 */
struct long_walks {
	uint64_t next_ns; /* none before this time, CLOCK_MONOTONIC */
};

/*
 * Walks the stack of a sample again, with the mappings that the kernel had. False: no time is left for it, or no
 * more is surely found than the kernel has; else *walk is the result, valid as unwinder_walk()'s.
 */
bool long_walks_finish(struct long_walks *walks, struct unwinder *unwinder,
		       struct process_table *table, struct process *process,
		       const struct queued *queued, const struct snapshot *snapshot,
		       struct unwinder_result *walk);

#endif
