/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_SUM_H
#define DP_BASE_SUM_H

#include <stdint.h>

/*
 * Saturating sums of numbers that come from profiled programs. They stop at the largest signed number, as some
 * formats have no larger one, instead of wrapping around.
 */
#define SUM_MAX ((uint64_t)INT64_MAX)

static inline uint64_t sum_of(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) || sum > SUM_MAX ? SUM_MAX : sum;
}

static inline uint64_t sum_of_equal(uint64_t n, uint64_t number)
{
	uint64_t sum;

	return __builtin_mul_overflow(n, number, &sum) || sum > SUM_MAX ? SUM_MAX : sum;
}

static inline void sum_increase(uint64_t *sum, uint64_t by)
{
	*sum = sum_of(*sum, by);
}

#endif
