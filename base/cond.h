/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_COND_H
#define DP_BASE_COND_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* For waits until a time of CLOCK_MONOTONIC. */
static inline void cond_init_monotonic(pthread_cond_t *ret)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(ret, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

/* The caller holds the lock. Returns 0, also on spurious wake-ups, or -ETIMEDOUT. */
static inline int cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns)
{
	const struct timespec until = { (time_t)(until_ns / 1000000000),
					(long)(until_ns % 1000000000) };

	return -pthread_cond_timedwait(cond, lock, &until);
}

#endif
