/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_OFF_CPU_H
#define DP_SAMPLES_OFF_CPU_H

#include "base/cleanup.h"
#include "base/hash.h"
#include "report/sample.h"
#include "symbols/kallsyms.h"

/*
 * Threads that are blocked: their samples, taken when they left the CPU, wait here
 * until it is known for how long. There is at most one for each thread.
 */

struct off_cpu_interval {
	struct sample sample; /* with its own frames, which follow; their modules are held */
	uint64_t ended_ns;    /* when the thread was found to be gone; 0: it was not */
	UT_hash_handle hh;    /* by sample.tid */
	struct frame frames[];
};

struct off_cpu_intervals {
	struct off_cpu_interval *by_tid;
	const struct kallsyms *kallsyms; /* NULL: unknown */
	size_t n_own;                    /* frames of kernel stacks that are ours, once known */
	bool knows_own;
	uint64_t looked; /* when ended threads were last looked for */
};

/* NULL is nothing. Returns NULL. */
struct off_cpu_interval *off_cpu_interval_free(struct off_cpu_interval *b);
DEFINE_CLEANUP(struct off_cpu_interval *, off_cpu_interval_free)

void off_cpu_done(struct off_cpu_intervals *intervals);

/* Keep a copy. What the thread had before was too short or too long, or its end was lost. 0 or -ENOMEM. */
int off_cpu_add(struct off_cpu_intervals *intervals, const struct sample *sample);

/* The interval of a thread that began at that time, which is the caller's to free; or NULL. */
struct off_cpu_interval *off_cpu_take(struct off_cpu_intervals *intervals, pid_t tid,
				      uint64_t time_ns);

/* A thread has ended: give up what it had, unless another one has its number since. */
void off_cpu_forget(struct off_cpu_intervals *intervals, pid_t tid, uint64_t time_ns);

/*
 * Give up those of threads that have ended without a record of it, which is lost where a ring is
 * full. The records from before a time have all been handled. Looks every ten seconds.
 */
void off_cpu_update(struct off_cpu_intervals *intervals, uint64_t before, uint64_t now);

/*
 * How many of a kernel stack's frames, from the leaf, are the tracepoint's and the
 * BPF program's. They are the same in all; 0 as long as no stack has told.
 */
size_t off_cpu_own_frames(struct off_cpu_intervals *intervals, const __u64 *kernel, size_t n);

#endif
