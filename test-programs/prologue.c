// SPDX-License-Identifier: Apache-2.0
#include "oracle.h"
#include "scenario.h"

/* Much of the time is spent in prologues and epilogues, where rows are short. */
__attribute__((noinline)) static unsigned long mix(unsigned long a, unsigned long b,
						   unsigned long c, unsigned long d, int n)
{
	unsigned long x = a * b + c, y = b ^ d, z = c + d, w = a - d;

	if (n == 0)
		return x ^ y ^ z ^ w;
	x += mix(y, z, w, x, n - 1);
	y ^= mix(z, w, x, y, n - 1);
	return mix(x, y, z, w, n - 1) + x + y + z + w;
}

__attribute__((noinline)) static unsigned long add(unsigned long a)
{
	volatile unsigned long b = a;

	return b + 1;
}

void scenario_prologue(void)
{
	unsigned int target = oracle_timer_count() + 10;
	volatile unsigned long sum = 0;

	while (oracle_timer_count() < target) {
		sum += mix(sum, 2, 3, 4, 7);
		for (int i = 0; i < 1000; i++)
			sum = add(sum);
	}
}
