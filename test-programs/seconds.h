/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEST_PROGRAMS_SECONDS_H
#define DP_TEST_PROGRAMS_SECONDS_H

#include <time.h>

/* Seconds since some moment. time() has whole ones only: what ran until then would run for up to one less. */
static inline double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#endif
