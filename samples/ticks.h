/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_TICKS_H
#define DP_SAMPLES_TICKS_H

#include <stddef.h>
#include <stdint.h>

/*
 * When the next samples of CPU time are to be expected. Where a timer takes them (perf's cpu-clock), those of a CPU
 * are whole periods apart, also if it was idle in between; and the timers of all CPUs were started one after the other.
 */
struct ticks {
	uint64_t period_ns; /* 0: no timer takes them */
	uint64_t *last;     /* by CPU; 0: none yet */
	size_t n_cpus;
};

/* 0 or -ENOMEM. */
int ticks_init(struct ticks *ret, size_t n_cpus, uint64_t period_ns);
void ticks_done(struct ticks *ticks);

/* A sample was taken. */
void ticks_note(struct ticks *ticks, size_t cpu, uint64_t time_ns);

/*
 * A sample has the time at which its walk began, and is in its ring when the walk has ended.
 * Younger samples wait for those still being walked.
 */
#define TICKS_WALK_NS UINT64_C(10000000)

/*
 * When records should be handled next, after a time at which they were: before samples are taken, for what processes have
 * done by then to be known; and once these can be reported, while their processes may still be there. 0: it is not known.
 */
uint64_t ticks_turn(const struct ticks *ticks, uint64_t after_ns);

/* The first time from this one on, on any CPU that has had a sample. 0: it is not known. */
uint64_t ticks_next(const struct ticks *ticks, uint64_t from_ns);

#endif
