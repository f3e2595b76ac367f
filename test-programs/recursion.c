// SPDX-License-Identifier: Apache-2.0
#include "oracle.h"
#include "scenario.h"

/* Frames of different sizes, so that a wrong offset shows. */
__attribute__((noinline)) static int odd(int n);

__attribute__((noinline)) static int even(int n)
{
	volatile char space[40];

	space[0] = (char)n;
	if (n == 0)
		oracle_check();
	else
		space[1] = (char)odd(n - 1);
	return space[0] + 1;
}

__attribute__((noinline)) static int odd(int n)
{
	volatile long space[3];

	space[0] = n;
	if (n == 0)
		oracle_check();
	else
		space[1] = even(n - 1);
	return (int)space[0] + 2;
}

void scenario_recursion(void)
{
	for (int i = 0; i < 10; i++)
		even(60);
	even(1500);
}
