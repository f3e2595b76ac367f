// SPDX-License-Identifier: Apache-2.0
/* Walks over synthetic stacks that need registers which callees have saved, or lost. */
#include "bpf/tests/world_fixture.h"

TestSuite(registers, .init = begin, .fini = end);

/* In the innermost frame every register is known: r10 in GCC's realigning prologues. */
Test(registers, takes_any_register_in_the_innermost_frame)
{
	world_rule(w, 1, 0)->cfa_reg = DP_R10;
	w->walk.in.regs.reg[DP_R10] = sp + 0x40;
	world_poke(w, sp + 0x38, code(0));
	expect_outcome(world_walk(w, code(1), sp, 0), DP_COMPLETE, 2);
}

/* In callers a caller-saved register is lost. */
Test(registers, does_not_guess_a_register)
{
	world_rule(w, 1, 0)->cfa_reg = DP_R10;
	w->walk.in.regs.reg[DP_R10] = sp + 0x40;
	world_poke(w, sp + 8, code(1));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_REGISTER_LOST, 2);
}

/*
 * The lazy binding resolver is found through rbx. No frame in between saved it: it still has the
 * innermost frame's value.
 */
Test(registers, finds_a_callee_saved_register_nobody_saved)
{
	world_rule(w, 3, 16)->cfa_reg = DP_RBX;
	w->walk.in.regs.reg[DP_RBX] = sp + 0x100;
	world_poke(w, sp + 8, library(3));
	world_poke(w, sp + 0x100 + 8, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 3);
}

/* Two frames saved rbx: the one nearest to the frame that needs it counts. */
Test(registers, finds_a_callee_saved_register_where_it_was_saved_last)
{
	world_rule(w, 3, 16)->cfa_reg = DP_RBX;
	world_rule(w, 4, 32)->saves = DP_SAVES_APART | 0;
	world_rule(w, 5, 32)->saves = DP_SAVES_APART | 1;
	world_saves(w)[0].where[DP_SAVED_RBX] = (struct dp_where){ DP_WHERE_CFA, 0, 0, -16 };
	world_saves(w)[1].where[DP_SAVED_RBX] = (struct dp_where){ DP_WHERE_CFA, 0, 0, -24 };
	w->walk.in.regs.reg[DP_RBX] = 0xbad;

	world_poke(w, sp + 16, 0xbad);          /* function 4's save of rbx */
	world_poke(w, sp + 24, library(5));     /* its return address */
	world_poke(w, sp + 32 + 8, sp + 0x200); /* function 5's save */
	world_poke(w, sp + 32 + 24, code(2));
	world_poke(w, sp + 64 + 8, code(3));
	world_poke(w, sp + 0x200 + 8, code(0));
	expect_outcome(world_walk(w, code(4), sp, 0), DP_COMPLETE, 5);
}

/* It was saved in a page that is not in memory. */
Test(registers, names_the_page_of_a_saved_register)
{
	const uint64_t slot = sp + 0x5000;

	world_rule(w, 3, 16)->cfa_reg = DP_RBX;
	world_rule(w, 4, 32)->saves = DP_SAVES_APART | 0;
	world_saves(w)[0].where[DP_SAVED_RBX] =
		(struct dp_where){ DP_WHERE_CFA, 0, 0, (int32_t)(slot - (sp + 32)) };
	world_poke(w, sp + 24, code(3));
	world_fault(w, slot);
	expect_outcome(world_walk(w, code(4), sp, 0), DP_READ_FAULT, 2);
	cr_assert_eq(w->walk.out.sample.fault_address, slot);
	/* What is not read does no harm, and once it can be read, it is. */
	world_poke(w, sp + 24, code(0));
	expect_outcome(world_walk(w, code(4), sp, 0), DP_COMPLETE, 2);
	world_poke(w, sp + 24, code(3));
	world_poke(w, slot, sp + 0x200);
	world_poke(w, sp + 0x200 + 8, code(0));
	w->n_faults = 0;
	expect_outcome(world_walk(w, code(4), sp, 0), DP_COMPLETE, 3);
}

/* In a realigned frame registers are saved relative to fp. */
Test(registers, finds_a_callee_saved_register_relative_to_rbp)
{
	world_rule(w, 3, 16)->cfa_reg = DP_RBX;
	world_rule(w, 4, 32)->saves = DP_SAVES_APART | 0;
	world_saves(w)[0].where[DP_SAVED_RBX] =
		(struct dp_where){ DP_WHERE_MEMORY, DP_REG_FP, 0, -16 };
	world_poke(w, sp + 0x400 - 16, sp + 0x200);
	world_poke(w, sp + 24, code(3));
	world_poke(w, sp + 0x200 + 8, code(0));
	expect_outcome(world_walk(w, code(4), sp, sp + 0x400), DP_COMPLETE, 3);
}

/* A frame that was left by its frame pointer may have saved rbx anywhere. */
Test(registers, gives_a_register_up_behind_a_frame_without_rules)
{
	world_rule(w, 3, 16)->cfa_reg = DP_RBX;
	w->walk.in.regs.reg[DP_RBX] = sp + 0x100;
	world_poke(w, sp + 0x40, 0);
	world_poke(w, sp + 0x48, code(3));
	world_poke(w, sp + 0x100 + 8, code(0));
	expect_outcome(world_walk(w, WORLD_JIT, sp, sp + 0x40), DP_REGISTER_LOST, 2);
}

/* fp of a frame whose rule cannot tell where it was saved. */
Test(registers, names_a_lost_rbp)
{
	world_rule(w, 2, 16)->fp.kind = DP_WHERE_UNKNOWN;
	world_rule(w, 1, 16)->cfa_reg = DP_REG_FP;
	world_poke(w, sp + 8, code(1));
	expect_outcome(world_walk(w, code(2), sp, sp + 0x40), DP_REGISTER_LOST, 2);
}

/* Wrong unwind information: most callers do not need fp, and some have saved it themselves. */
Test(registers, goes_on_without_an_rbp_that_cannot_be_read)
{
	struct dp_rule *rule = world_rule(w, 2, 16);

	rule->fp = (struct dp_where){ .kind = DP_WHERE_MEMORY, .reg = DP_REG_FP };
	world_rule(w, 3, 32)->fp = (struct dp_where){ .kind = DP_WHERE_CFA, .offset = -16 };
	world_rule(w, 4, 16)->cfa_reg = DP_REG_FP;
	world_poke(w, sp + 8, code(3));
	world_poke(w, sp + 16 + 16, sp + 0x100);
	world_poke(w, sp + 16 + 24, code(4));
	world_poke(w, sp + 0x108, code(0));
	expect_outcome(world_walk(w, code(2), sp, 1), DP_COMPLETE, 4);
	/* The next one needs it. */
	world_poke(w, sp + 8, code(4));
	expect_outcome(world_walk(w, code(2), sp, 1), DP_READ_FAULT, 2);
	cr_assert_eq(w->walk.out.sample.fault_address, 1);
}

/* A frame in between reads what it has, and then the next one needs what is behind it. */
Test(registers, names_the_page_of_a_saved_rbp)
{
	const uint64_t slot = sp + 0x5000;

	world_rule(w, 2, 16)->fp =
		(struct dp_where){ .kind = DP_WHERE_CFA, .offset = (int32_t)(slot - (sp + 16)) };
	world_rule(w, 4, 16)->cfa_reg = DP_REG_FP;
	world_poke(w, sp + 8, code(1));
	world_poke(w, sp + 16 + 24, code(4));
	world_fault(w, slot);
	expect_outcome(world_walk(w, code(2), sp, sp + 0x40), DP_READ_FAULT, 3);
	cr_assert_eq(w->walk.out.sample.fault_address, slot);
	/* The root needs none. */
	world_poke(w, sp + 16 + 24, code(0));
	expect_outcome(world_walk(w, code(2), sp, sp + 0x40), DP_COMPLETE, 3);
	cr_assert_eq(w->walk.out.sample.fault_address, 0);
}
