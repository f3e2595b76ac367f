// SPDX-License-Identifier: Apache-2.0
/*
 * usage: paged [gone]
 *
 * Spins at the bottom of a stack whose upper pages are not in the page table, as if they were
 * swapped out. The stack is a shared mapping, so this needs no swap space. With `gone` these pages
 * are unmapped.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096
#define STACK_SIZE (1 << 20)

static char *stack;
static volatile int sink;
static int is_gone;

static __attribute__((noinline)) void spin(void)
{
	char *here = (char *)((unsigned long)__builtin_frame_address(0) & ~(PAGE - 1UL));
	size_t size = (size_t)(stack + STACK_SIZE - here) - 2 * PAGE;

	/* The uppermost page has the thread's own data. */
	if (is_gone ? munmap(here + PAGE, size - PAGE) : madvise(here + PAGE, size, MADV_DONTNEED))
		abort();
	for (;;)
		sink++;
}

static __attribute__((noinline)) int descend(int depth)
{
	volatile char room[2000];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = (char)depth;
	if (depth == 0)
		spin();
	return descend(depth - 1) + room[sink % 2000];
}

static void *run(void *arg)
{
	sink += descend(100);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t thread;

	is_gone = argc > 1;
	stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED || pthread_attr_init(&attr) != 0 ||
	    pthread_attr_setstack(&attr, stack, STACK_SIZE) != 0 ||
	    pthread_create(&thread, &attr, run, NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	return 0;
}
