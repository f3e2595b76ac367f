// SPDX-License-Identifier: Apache-2.0
/* A library that works for a while at the bottom of a deep stack, in a function of its caller. */
int work(int (*spin)(double), double seconds);

static __attribute__((noinline)) int descend(int depth, int (*spin)(double), double seconds)
{
	int result = depth > 0 ? descend(depth - 1, spin, seconds) : spin(seconds);

	/* Prevents a tail call. */
	__asm__ volatile("" : "+r"(result));
	return result + 1;
}

int work(int (*spin)(double), double seconds)
{
	return descend(10, spin, seconds) + 1;
}
