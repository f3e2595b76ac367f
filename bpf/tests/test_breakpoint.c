// SPDX-License-Identifier: Apache-2.0
/* Where a thread is that is at a uprobe. */
#include "bpf/breakpoint.h"

#include <criterion/criterion.h>

#define PLACE 0x401000
#define COPY 0x7fffffffe080

Test(breakpoint, elsewhere_nothing_changes)
{
	cr_assert_eq(breakpoint_pc(&(struct breakpoint){ 0 }, PLACE), PLACE);
}

Test(breakpoint, one_that_is_yet_to_be_handled_is_in_front_of_pc)
{
	cr_assert_eq(breakpoint_pc(&(struct breakpoint){ .is_ahead = 1 }, PLACE + 1), PLACE);
}

/* Before and behind the instruction, which has three bytes. */
Test(breakpoint, a_copy_stands_for_the_original)
{
	const struct breakpoint b = { .copy = COPY, .original = PLACE };

	cr_assert_eq(breakpoint_pc(&b, COPY), PLACE);
	cr_assert_eq(breakpoint_pc(&b, COPY + 3), PLACE + 3);
}

/* The flag is set again behind the copy. */
Test(breakpoint, behind_a_copy_the_kernel_is_not_waited_for)
{
	const struct breakpoint b = { .copy = COPY, .original = PLACE, .is_ahead = 1 };

	cr_assert_eq(breakpoint_pc(&b, COPY + 3), PLACE + 3);
}

/* No copy has been made. */
Test(breakpoint, a_call_of_null_is_no_copy)
{
	const struct breakpoint b = { .original = PLACE };

	cr_assert_eq(breakpoint_pc(&b, 0), 0);
}

Test(breakpoint, a_push_has_been_executed_if_the_stack_has_its_register)
{
	static const int pushed[] = { DP_RAX, DP_RCX, DP_RDX, DP_RBX, DP_RBP, DP_RSI, DP_RDI };
	struct dp_regs regs = { .reg = { [DP_RSP] = 0x7000, [DP_R12] = 77 } };

	for (size_t i = 0; i < sizeof(pushed) / sizeof(*pushed); i++) {
		regs.reg[pushed[i]] = 100 + i;
		cr_assert(breakpoint_has_pushed(&regs, 100 + i));
	}
	cr_assert(!breakpoint_has_pushed(&regs, 77));
	cr_assert(!breakpoint_has_pushed(&regs, PLACE));
}

/* Behind a function's first instruction of one byte it is a breakpoint. */
Test(breakpoint, in_front_of_a_function_may_be_a_gap)
{
	cr_assert(breakpoint_may_be_gap(PLACE));
	cr_assert(breakpoint_may_be_gap(PLACE + 0x10));
	for (int i = 1; i < 16; i++)
		cr_assert(!breakpoint_may_be_gap(PLACE + i));
}

/* A copy of a call, jump or return, or one that was executed before. */
Test(breakpoint, a_copy_may_have_led_elsewhere)
{
	const struct breakpoint b = { .copy = COPY, .original = PLACE };

	cr_assert_eq(breakpoint_pc(&b, PLACE - 0x100), PLACE - 0x100);
	cr_assert_eq(breakpoint_pc(&b, COPY - 1), COPY - 1);
	cr_assert_eq(breakpoint_pc(&b, COPY + DP_TRAMPOLINE_SIZE), COPY + DP_TRAMPOLINE_SIZE);
}
