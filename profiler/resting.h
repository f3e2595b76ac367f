/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_RESTING_H
#define DP_PROFILER_RESTING_H

#include <stddef.h>
#include <stdint.h>

#include "process/process.h"
#include "profiler/profiler.h"
#include "samples/off_cpu.h"
#include "samples/thread_reader.h"
#include "samples/thread_snapshot.h"

struct session;

/*
 * Threads that are blocked when sampling begins, and may be until it ends: no switch tells of them,
 * so their stacks are taken as for `dump`. From then on they are as those that were seen to block.
 *
 *   resting_take()   before sampling begins, because it may take longer than rings can hold
 *   resting_begin()  after, for those that have not run meanwhile
 *   resting_done()
 */
struct resting {
	struct thread_reader reader;
	struct thread_snapshot *snapshots; /* one per process */
	size_t n, size;
};

/*
 * Takes the stacks of the target's threads in processes of the table. Logs what is missing for
 * that. 0 or negative errno; then there are none, and a run goes on without them.
 */
int resting_take(struct resting *ret, const struct profiler_options *options,
		 struct process_table *table, struct unwinder *unwinder);

/* Their intervals begin at `started`. 0 or -ENOMEM. */
int resting_begin(struct resting *resting, const struct profiler_options *options,
		  struct session *session, struct off_cpu_intervals *intervals, uint64_t started);

void resting_done(struct resting *resting, struct process_table *table);

#endif
