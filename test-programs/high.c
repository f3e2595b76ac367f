// SPDX-License-Identifier: Apache-2.0
/*
 * usage: high
 *
 * Spins in a recursion on a stack above the reach of four-level page tables, where the kernel maps
 * only on request. Exits with 1 if there are only four levels.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#define WANTED (UINT64_C(1) << 55)
#define FOUR_LEVELS (UINT64_C(1) << 47)
#define STACK_SIZE (1 << 20)
#define DEPTH 20

static volatile unsigned long sum;

__attribute__((noinline)) static unsigned long descend(int depth)
{
	if (depth == 0)
		for (;;)
			sum++;
	return descend(depth - 1) + sum;
}

static void *run(void *arg)
{
	return (void *)(descend(DEPTH) + 1);
}

int main(void)
{
	void *stack = mmap((void *)WANTED, STACK_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;

	if (stack == MAP_FAILED || (uint64_t)stack < FOUR_LEVELS) {
		fprintf(stderr, "high: there is no memory as high as that\n");
		return 1;
	}
	pthread_attr_init(&attr);
	if (pthread_attr_setstack(&attr, stack, STACK_SIZE) != 0 ||
	    pthread_create(&thread, &attr, run, NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	return 0;
}
