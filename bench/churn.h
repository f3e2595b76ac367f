/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BENCH_CHURN_H
#define DP_BENCH_CHURN_H

#include <time.h>

/* What the programs and libraries of churn.py have in common: see churn.c. */

/* churn.py writes another number over each of these zeros, and in the functions' names. */
#define CHURN_CONTENTS "churn-contents-000000"
/* How long each of their functions takes. */
#define CHURN_NS 2000000

/* The CPU time that the thread has spent, in ns. */
static inline long churn_spent(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Spend the thread's CPU time in the function that this becomes part of. */
static inline __attribute__((always_inline)) void churn_spend(long ns, const char *contents)
{
	long start = churn_spent();
	volatile unsigned int sum = 0;

	do
		for (unsigned int i = 0; i < 1000; i++)
			sum += (unsigned char)contents[i % (sizeof(CHURN_CONTENTS) - 1)];
	while (churn_spent() - start < ns);
	(void)sum; /* or clang 14 takes it for unused */
}

#endif
