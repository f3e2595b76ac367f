/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CACHE_READ_LIMIT_H
#define DP_CACHE_READ_LIMIT_H

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/* When to give up reading a file, whose server may send a few bytes at a time. */
struct read_limit {
	const atomic_bool *stop; /* once it is true; NULL: never */
	uint64_t until_ns;       /* CLOCK_MONOTONIC; 0: no limit */
};

static inline uint64_t read_limit_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Before each step. 0, -ECANCELED, or -ETIMEDOUT. NULL: there is no limit. */
static inline int read_limit_check(const struct read_limit *limit)
{
	if (limit && limit->stop && atomic_load_explicit(limit->stop, memory_order_relaxed))
		return -ECANCELED;
	return limit && limit->until_ns != 0 && read_limit_now_ns() >= limit->until_ns ?
		       -ETIMEDOUT :
		       0;
}

#endif
