/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_RESTING_H
#define DP_PROFILER_RESTING_H

#include <stddef.h>
#include <stdint.h>

#include "process/process.h"
#include "profiler/profiler.h"
#include "samples/off_cpu.h"
#include "samples/process_memory.h"
#include "samples/thread_reader.h"
#include "samples/thread_snapshot.h"

struct session;

/*
 * Threads that are blocked when sampling begins, and may be until it ends: no switch tells of them,
 * so their stacks are taken as for `dump`. From then on they are as those that were seen to block.
 *
 *   resting_take()   before sampling begins, because it may take longer than rings can hold
 *   resting_begin()  after, for those that have not run meanwhile; who has run, or is new, and was
 *                    not seen to block since, is looked at once more
 *   resting_done()
 */
struct resting {
	const struct profiler_options *options;
	struct process_table *table;
	struct unwinder *unwinder;
	struct thread_reader reader;
	struct process_memory memory;
	struct thread_snapshot *snapshots; /* one per process, and one of the kernel's threads */
	size_t n, size;
	size_t n_threads;  /* in these */
	size_t n_left_out; /* processes, for the limits below */
	uint64_t until_ns; /* when to be done with a step */
};

/*
 * Bounds for machines with very many threads: the time before sampling and after it has begun, in
 * which the rings are not read, and the number, of which the kernel's map has room for more.
 */
#define RESTING_TAKE_NS UINT64_C(5000000000)
#define RESTING_BEGIN_NS UINT64_C(50000000)
#define RESTING_MAX_THREADS (DP_MAX_BLOCKED / 2)

/*
 * Takes the stacks of the target's threads in processes of the table, and of the kernel's if all
 * threads are profiled. The arguments must outlive `ret`. Logs what is missing for that. 0 or
 * negative errno; then there are none, and a run goes on without them.
 */
int resting_take(struct resting *ret, const struct profiler_options *options,
		 struct process_table *table, struct unwinder *unwinder);

/* Their intervals begin at `started`. 0 or -ENOMEM. */
int resting_begin(struct resting *resting, struct session *session,
		  struct off_cpu_intervals *intervals, uint64_t started);

void resting_done(struct resting *resting);

#endif
