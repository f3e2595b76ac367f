/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOG_CLOCK_H
#define DP_LOG_CLOCK_H

#include <stdint.h>
#include <time.h>

/* 0 if it is the clock of a process or thread that has ended. */
static inline uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The clock of samples and perf records: CLOCK_MONOTONIC, in nanoseconds. */
static inline uint64_t clock_now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

/* The time of day. */
static inline uint64_t clock_real_ns(void)
{
	return clock_read_ns(CLOCK_REALTIME);
}

/* Converts to CLOCK_BOOTTIME, which also counts time while the machine is suspended. */
static inline uint64_t clock_to_boot_ns(uint64_t monotonic_ns)
{
	uint64_t now = clock_now_ns();

	return monotonic_ns + (clock_read_ns(CLOCK_BOOTTIME) - now);
}

#endif
