/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_SPAN_COUNTS_H
#define DP_KERNEL_SPAN_COUNTS_H

#include <stdint.h>

struct session;

struct span_counts {
	uint64_t n_threads, n_processes;
};

/*
 * Counts the threads and processes whose stored calls were evicted because a map was full. Walks both maps.
 * 0 or a negative errno.
 */
int span_counts_forgotten(const struct session *session, struct span_counts *ret);

#endif
