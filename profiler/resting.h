/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_RESTING_H
#define DP_PROFILER_RESTING_H

#include <stddef.h>
#include <stdint.h>

#include "process/process_table.h"
#include "profiler/profiler_options.h"
#include "profiler/thread_set.h"
#include "samples/off_cpu.h"

struct session;

/* Bounds for machines with very many threads. */
struct resting_limits {
	uint64_t take_ns;   /* time to find and take stacks, before sampling */
	uint64_t begin_ns;  /* time to take those of new and moved threads, while rings fill up */
	size_t max_threads; /* the kernel's map has room for more */
};

/*
 * Threads that are blocked when sampling begins, perhaps until it ends. No context switch reports them, so their
 * stacks are taken as for `dump`. From then on they are treated like threads that were seen to block.
 *
 *   resting_take()          before sampling begins, because it may take longer than rings can hold
 *   resting_take_started()  then, for processes that were started meanwhile
 *   resting_begin()         after, for those that have not run meanwhile; takes the stacks of threads
 *                           again that have run, or are new, and were not seen to block since
 *   resting_done()
 *
 * Before each, the records of processes are read into the table.
 */
struct resting {
	const struct profiler_options *options;
	const struct resting_limits *limits;
	struct thread_set set;
	size_t n_threads;                  /* in its processes */
	size_t n_too_many, n_late;         /* processes left out for the limits */
	uint64_t until_ns;                 /* when to be done with a step */
	const struct value_labels *labels; /* set by the caller before resting_begin(), or NULL */
};

#define RESTING_TAKE_NS UINT64_C(5000000000)
#define RESTING_BEGIN_NS UINT64_C(50000000)
#define RESTING_MAX_THREADS (DP_MAX_BLOCKED / 2)

/*
 * Takes the stacks of the target's threads in processes of the table, and of the kernel's if all
 * threads are profiled. The arguments must outlive `ret`. Logs what is missing for that. 0 or
 * negative errno; then there are none, and a run goes on without them.
 */
int resting_take(struct resting *ret, const struct profiler_options *options,
		 struct process_table *table, struct unwinder *unwinder,
		 const struct resting_limits *limits);

/* The same for processes that the table has got since, within the rest of the time. 0 or -ENOMEM. */
int resting_take_started(struct resting *resting);

/* Their intervals begin at `started`. 0 or -ENOMEM. */
int resting_begin(struct resting *resting, struct session *session,
		  struct off_cpu_intervals *intervals, uint64_t started);

void resting_done(struct resting *resting);

#endif
