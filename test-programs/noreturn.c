// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>

#include "oracle.h"
#include "scenario.h"

static jmp_buf back;
static volatile int counter;

__attribute__((noinline, noreturn)) static void leave(void)
{
	oracle_check();
	oracle_timer_pause(1);
	longjmp(back, 1);
}

/*
 * The call is the last instruction: the return address is the start of the next function, which has
 * other rules.
 */
__attribute__((noinline, noreturn)) static void ends_in_call(void)
{
	volatile char space[120];

	space[0] = (char)counter;
	counter = space[0] + 1;
	leave();
}

__attribute__((noinline)) static int neighbour(int n)
{
	return counter + n;
}

void scenario_noreturn(void)
{
	volatile int i;

	for (i = 0; i < 20; i++) {
		if (setjmp(back) == 0)
			ends_in_call();
		oracle_timer_pause(0);
		neighbour(i);
	}
}
