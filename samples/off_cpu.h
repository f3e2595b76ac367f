/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_OFF_CPU_H
#define DP_SAMPLES_OFF_CPU_H

#include "base/hash.h"
#include "samples/owned_sample.h"
#include "symbols/kallsyms.h"

/*
 * Samples of blocked threads, taken when they left the CPU. They wait here until the duration is
 * known; at most one per thread.
 */

struct off_cpu_interval {
	pid_t tid;
	struct owned_sample *kept; /* owned */
	uint64_t ended_ns;         /* when the thread was found to be gone; 0: it was not */
	UT_hash_handle hh;         /* by tid */
};

struct off_cpu_intervals {
	struct off_cpu_interval *by_tid; /* in the order in which they were added */
	/* The first that off_cpu_read() has not passed on yet; NULL: none */
	struct off_cpu_interval *unread;
	const struct kallsyms *kallsyms; /* NULL: unknown */
	size_t n_own;                    /* our own frames in a kernel stack, once known */
	bool knows_own;
	uint64_t looked; /* when it last searched for ended threads */
};

void off_cpu_done(struct off_cpu_intervals *intervals);

/*
 * Stores a copy, which replaces the thread's previous one: that was too short or too long, or its
 * end was lost. calls: the probed calls on its stack; NULL: none. 0 or -ENOMEM.
 */
int off_cpu_add(struct off_cpu_intervals *intervals, const struct sample *sample,
		const struct span_list *calls);

/* Returns the sample of a thread that blocked at that time, which the caller frees; or NULL. */
struct owned_sample *off_cpu_take(struct off_cpu_intervals *intervals, pid_t tid, uint64_t time_ns);

/*
 * Calls `read`, once each, for the samples of threads that have been blocked since before a time; again for one for
 * which it does not return 0. Returns 0 or what `read` does.
 */
int off_cpu_read(struct off_cpu_intervals *intervals, uint64_t before,
		 int (*read)(void *arg, const struct sample *sample), void *arg);

/* A thread has ended: frees its interval, unless another thread has its TID since. */
void off_cpu_forget(struct off_cpu_intervals *intervals, pid_t tid, uint64_t time_ns);

/*
 * Frees the intervals of threads that have ended without a record, which may be lost when a ring is
 * full. All records from before `before` have been handled. Searches every ten seconds.
 */
void off_cpu_update(struct off_cpu_intervals *intervals, uint64_t before, uint64_t now);

/*
 * The number of frames at the leaf of a kernel stack that belong to the tracepoint and the BPF
 * program. It is the same in all stacks; 0 until one has shown it.
 */
size_t off_cpu_own_frames(struct off_cpu_intervals *intervals, const __u64 *kernel, size_t n);

#endif
