// SPDX-License-Identifier: Apache-2.0
/* Coroutines by makecontext() and swapcontext() on their own stacks, which alternate. */
#include <stdlib.h>
#include <ucontext.h>

#define N 3
#define STACK_SIZE (64 << 10)

static ucontext_t main_context, contexts[N];
static volatile unsigned int sink;

static __attribute__((noinline)) unsigned int fibonacci(unsigned int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static __attribute__((noinline)) void coroutine(int number)
{
	for (;;) {
		sink += fibonacci(18);
		swapcontext(&contexts[number], &main_context);
	}
}

static __attribute__((noinline)) void turn(int number)
{
	swapcontext(&main_context, &contexts[number]);
	sink++;
}

int main(void)
{
	for (int i = 0; i < N; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = malloc(STACK_SIZE);
		contexts[i].uc_stack.ss_size = STACK_SIZE;
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
	}
	for (int i = 0;; i = (i + 1) % N)
		turn(i);
}
