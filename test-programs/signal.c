// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

#include "oracle.h"
#include "scenario.h"

static sigjmp_buf back;

static void on_signal(int number)
{
	oracle_check();
}

/* A handler that is interrupted by another one, on the other stack. */
static void on_outer(int number)
{
	oracle_check();
	raise(SIGUSR2);
	oracle_check();
}

static void on_fault(int number)
{
	oracle_check();
	oracle_timer_pause(1);
	siglongjmp(back, 1);
}

static void handle(int number, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	sigaction(number, &action, NULL);
}

__attribute__((noinline)) static int fault(volatile int *p)
{
	return *p + 1;
}

__attribute__((noinline)) static int jump(int (*volatile fn)(void))
{
	return fn() + 1;
}

static volatile int *volatile nowhere;
static int (*volatile no_function)(void);

void scenario_signal(void)
{
	static char memory[64 << 10];
	stack_t alternate = { .ss_sp = memory, .ss_size = sizeof(memory) };
	stack_t none = { .ss_flags = SS_DISABLE };
	volatile int i;

	sigaltstack(&alternate, NULL);
	handle(SIGUSR1, on_outer, 0);
	handle(SIGUSR2, on_signal, SA_ONSTACK);
	handle(SIGSEGV, on_fault, SA_ONSTACK | SA_NODEFER);
	for (i = 0; i < 10; i++) {
		raise(SIGUSR1);
		raise(SIGUSR2);
		if (sigsetjmp(back, 1) == 0)
			fault(nowhere);
		oracle_timer_pause(0);
		if (sigsetjmp(back, 1) == 0)
			jump(no_function);
		oracle_timer_pause(0);
	}
	handle(SIGSEGV, SIG_DFL, 0);
	sigaltstack(&none, NULL);
}
