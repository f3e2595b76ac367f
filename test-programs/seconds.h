/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEST_PROGRAMS_SECONDS_H
#define DP_TEST_PROGRAMS_SECONDS_H

#include <time.h>

/*
 * A monotonic time in seconds. time() has a resolution of one second, by which runs would be too
 * short.
 */
static inline double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#endif
