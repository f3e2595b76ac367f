/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOADER_CLOCK_H
#define DP_LOADER_CLOCK_H

#include <stdint.h>
#include <time.h>

/* The clock of samples and of perf records: CLOCK_MONOTONIC, in nanoseconds. */
static inline uint64_t clock_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#endif
