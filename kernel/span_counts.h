/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_SPAN_COUNTS_H
#define DP_KERNEL_SPAN_COUNTS_H

#include <stdint.h>

struct dp_span_times;
struct session;

struct span_counts {
	uint64_t n_threads, n_processes;
};

/*
 * Counts the threads and processes whose stored calls were evicted because a map was full. Walks both maps.
 * 0 or a negative errno.
 */
int span_counts_forgotten(const struct session *session, struct span_counts *ret);

/* Sums the counts of calls of functions with session_end_calls() over all CPUs. 0 or a negative errno. */
int session_span_times(const struct session *session, struct dp_span_times *ret);

#endif
