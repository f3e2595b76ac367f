// SPDX-License-Identifier: Apache-2.0
/*
 * Walks over synthetic stacks, one rule or outcome at a time; the expected frames are in each test.
 */
#include <errno.h>

#include "bpf/tests/world_fixture.h"

TestSuite(walk, .init = begin, .fini = end);

static void expect_frame(uint32_t i, uint64_t address, enum dp_method method)
{
	cr_assert(i < w->walk.at.n_frames, "only %u frames", w->walk.at.n_frames);
	cr_assert(DP_FRAME_ADDRESS(w->walk.out.frames[i]) == address, "frame %u: %llx", i,
		  DP_FRAME_ADDRESS(w->walk.out.frames[i]));
	cr_assert(DP_FRAME_METHOD(w->walk.out.frames[i]) == method, "frame %u: method %llu", i,
		  DP_FRAME_METHOD(w->walk.out.frames[i]));
}

Test(walk, reaches_the_root_through_two_mappings)
{
	world_poke(w, sp + 8, library(1));
	world_poke(w, sp + 16 + 24, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 3);
	expect_frame(0, code(2), DP_METHOD_LEAF);
	expect_frame(1, library(1), DP_METHOD_TABLE);
	expect_frame(2, code(0), DP_METHOD_TABLE);
}

/* Each frame is on a page of its own, and has to be read. */
Test(walk, reaches_the_root_of_a_stack_of_many_pages)
{
	const uint64_t low = WORLD_STACK + 0x100;
	const int n = 300;

	world_rule(w, 3, DP_USER_PAGE_SIZE);
	/*
	 * The other pages have plausible contents, in case they are read instead of missing ones.
	 */
	for (int i = 0; i < n; i++)
		world_poke(w, low + (uint64_t)(i + 1) * DP_USER_PAGE_SIZE - 8,
			   i == n - 1 ? code(0) : library(3) + (uint64_t)(i & 7));
	for (int i = 0; i < 3; i++) {
		expect_outcome(world_walk(w, code(3), low, 0), DP_COMPLETE, (uint32_t)n + 1);
		expect_frame((uint32_t)n - 1, library(3) + (uint64_t)((n - 2) & 7),
			     DP_METHOD_TABLE);
	}
}

/* A caller is looked up at its call: the return address may be the next function's first byte. */
Test(walk, looks_callers_up_before_their_return_address)
{
	uint64_t behind = WORLD_CODE + 2 * WORLD_FUNCTION_SIZE; /* function 1 ends, 2 begins */

	world_poke(w, sp + 8, behind);
	world_poke(w, sp + 16 + 24, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 3);
	expect_frame(1, behind, DP_METHOD_TABLE);
}

/* So is the address behind a system call: rt_sigreturn()'s is its function's last instruction. */
Test(walk, looks_system_calls_up_before_their_return_address)
{
	uint64_t behind = WORLD_CODE + 2 * WORLD_FUNCTION_SIZE;

	world_poke(w, sp + 24, code(0));
	w->walk.in.in_syscall = 1;
	expect_outcome(world_walk(w, behind, sp, 0), DP_COMPLETE, 2);
	expect_frame(0, behind, DP_METHOD_LEAF);
	w->walk.in.in_syscall = 0;
	world_poke(w, sp + 8, 0x123456);
	expect_outcome(world_walk(w, behind, sp, 0), DP_NO_MAPPING, 1);
}

Test(walk, restores_rbp_and_uses_it)
{
	world_rule(w, 2, 16)->fp = (struct dp_where){ .kind = DP_WHERE_CFA, .offset = -16 };
	world_rule(w, 1, 16)->cfa_reg = DP_REG_FP;
	world_poke(w, sp, sp + 0x80); /* the caller's fp */
	world_poke(w, sp + 8, code(1));
	world_poke(w, sp + 0x80 + 8, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0xdead), DP_COMPLETE, 3);
}

/* GCC's realigned frames: CFA = *(fp - 40), fp = *fp. Both from the frame's own fp. */
Test(walk, reads_a_cfa_from_memory)
{
	struct dp_rule *rule = world_rule(w, 1, -40);

	rule->cfa = DP_CFA_MEMORY;
	rule->cfa_reg = DP_REG_FP;
	rule->fp = (struct dp_where){ .kind = DP_WHERE_MEMORY, .reg = DP_REG_FP };
	world_poke(w, sp + 0x100 - 40, sp + 0x200); /* the CFA */
	world_poke(w, sp + 0x100, 0x1234);          /* the caller's fp */
	world_poke(w, sp + 0x200 - 8, code(0));
	expect_outcome(world_walk(w, code(1), sp, sp + 0x100), DP_COMPLETE, 2);
	cr_assert(w->walk.at.fp == 0x1234 && w->walk.at.sp == sp + 0x200);
}

Test(walk, adds_to_a_cfa_from_memory)
{
	struct dp_rule *rule = world_rule(w, 1, 24);

	rule->cfa = DP_CFA_MEMORY;
	rule->cfa_add = 8;
	world_poke(w, sp + 24, sp + 0x300);
	world_poke(w, sp + 0x300, code(0));
	expect_outcome(world_walk(w, code(1), sp, 0), DP_COMPLETE, 2);
}

/* The second half of a lazy binding stub has pushed one more word. */
Test(walk, tells_the_halves_of_a_plt_entry_apart)
{
	struct dp_rule *rule = world_rule(w, 1, 8);
	uint64_t entry = WORLD_CODE + WORLD_FUNCTION_SIZE + 16;

	rule->cfa = DP_CFA_PLT;
	rule->cfa_add = 11;
	world_poke(w, sp, code(0));
	world_poke(w, sp + 8, library(0));
	for (uint64_t i = 0; i < 16; i++) {
		expect_outcome(world_walk(w, entry + i, sp, 0), DP_COMPLETE, 2);
		expect_frame(1, i < 11 ? code(0) : library(0), DP_METHOD_TABLE);
	}
}

/* The parent continues; the child, which gets 0 from the system call, is a thread's root. */
Test(walk, tells_parent_and_child_of_a_clone_apart)
{
	struct dp_rule *rule = world_rule(w, 1, 8);

	rule->cfa = DP_CFA_CLONE;
	rule->cfa_reg = DP_RAX;
	world_poke(w, sp, code(0));
	for (int i = 0; i < 2; i++) {
		w->walk.in.in_syscall = i == 0;
		w->walk.in.regs.reg[DP_RAX] = i == 0 ? -ENOSYS : 4711;
		expect_outcome(world_walk(w, code(1), sp, 0), DP_COMPLETE, 2);
		expect_frame(1, code(0), DP_METHOD_TABLE);
		w->walk.in.regs.reg[DP_RAX] = 0;
		expect_outcome(world_walk(w, code(1), sp, 0), DP_COMPLETE, 1);
	}
	/* Only the innermost frame knows the system call's result. */
	world_poke(w, sp + 8, code(1));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_REGISTER_LOST, 2);
}

/* Sets a word of the signal context at an address: struct sigcontext_64. */
static void poke_context(uint64_t context, int word, uint64_t value)
{
	world_poke(w, context + 8 * (uint64_t)word, value);
}

/*
 * Through a signal handler: the interrupted address is exact, all registers
 * are known again, and the stack may be another one, below this one.
 */
Test(walk, goes_on_where_a_signal_interrupted)
{
	uint64_t other = WORLD_STACK + 0x100, at = WORLD_CODE + 6 * WORLD_FUNCTION_SIZE;
	struct dp_rule *trampoline = world_rule(w, 5, 40);

	trampoline->cfa = DP_CFA_SIGNAL;
	world_rule(w, 6, 0)->cfa_reg = DP_R10;
	world_rule(w, 1, 16)->cfa_reg = DP_RBX;
	world_rule(w, 2, 16)->fp.kind = DP_WHERE_UNKNOWN;

	world_poke(w, sp + 8, code(5));
	poke_context(sp + 16 + 40, 2, other + 0x20);   /* r10 */
	poke_context(sp + 16 + 40, 10, 0x5555);        /* fp */
	poke_context(sp + 16 + 40, 11, other + 0x100); /* rbx */
	poke_context(sp + 16 + 40, 15, other);         /* sp */
	poke_context(sp + 16 + 40, 16, at);            /* rip: a function's first byte */
	world_poke(w, other + 0x18, code(1));
	world_poke(w, other + 0x108, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 5);
	expect_frame(1, code(5), DP_METHOD_TABLE);
	expect_frame(2, at, DP_METHOD_SIGNAL);
	expect_frame(3, code(1), DP_METHOD_TABLE);
	cr_assert(w->walk.at.fp == 0x5555 && !w->walk.at.fp_lost);
}

/* Except across a signal frame, the stack pointer only grows. */
Test(walk, never_goes_down_the_stack)
{
	world_rule(w, 1, 16)->cfa_reg = DP_REG_FP;
	world_poke(w, sp - 0x40 + 8, code(1));
	expect_outcome(world_walk(w, code(1), sp, sp - 0x40), DP_STACK_DIRECTION, 1);
}

/* A frame that leads to itself ends too: its CFA does not grow. */
Test(walk, does_not_loop)
{
	world_rule(w, 1, 16)->cfa_reg = DP_REG_FP;
	world_poke(w, sp + 8, code(1));
	expect_outcome(world_walk(w, code(1), sp, sp), DP_STACK_DIRECTION, 2);
}

Test(walk, names_a_page_that_cannot_be_read)
{
	world_rule(w, 1, 0x2000);
	world_fault(w, sp + 0x2000 - 8);
	expect_outcome(world_walk(w, code(1), sp, 0), DP_READ_FAULT, 1);
	cr_assert(w->fault_hit[0]);
}

Test(walk, names_a_signal_context_that_cannot_be_read)
{
	world_rule(w, 5, 0x3000)->cfa = DP_CFA_SIGNAL;
	world_fault(w, sp + 0x3000);
	expect_outcome(world_walk(w, code(5), sp, 0), DP_READ_FAULT, 1);
	cr_assert(w->fault_hit[0]);
}

/* It is long enough that only part of it is readable. */
Test(walk, names_the_page_of_a_signal_context_that_cannot_be_read)
{
	uint64_t page = WORLD_STACK + 2 * DP_USER_PAGE_SIZE;

	world_rule(w, 5, (int32_t)(page - 64 - sp))->cfa = DP_CFA_SIGNAL;
	world_fault(w, page);
	expect_outcome(world_walk(w, code(5), sp, 0), DP_READ_FAULT, 1);
	cr_assert(w->walk.out.sample.fault_address == page + 64, "%llx",
		  w->walk.out.sample.fault_address);
	world_fault(w, page - 1);
	expect_outcome(world_walk(w, code(5), sp, 0), DP_READ_FAULT, 1);
	cr_assert(w->walk.out.sample.fault_address == page - 64);
}

/* Words that straddle two pages are read across the boundary. */
Test(walk, reads_words_across_pages)
{
	uint64_t odd = WORLD_STACK + 2 * DP_USER_PAGE_SIZE - 12;

	world_rule(w, 1, 16);
	world_poke(w, odd + 8, code(0));
	expect_outcome(world_walk(w, code(1), odd, 0), DP_COMPLETE, 2);
}

/* Many frames on one page cost one read of it (and one of each mapping's cookie). */
Test(walk, reads_each_page_once)
{
	for (uint64_t i = 0; i < 50; i++)
		world_poke(w, sp + 16 * i + 8, code(2));
	world_poke(w, sp + 16 * 50 + 8, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 52);
	cr_assert(w->n_reads == 2, "%d reads", w->n_reads);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 52);
	cr_assert(w->n_reads == 4, "%d reads", w->n_reads);
}

Test(walk, says_what_could_not_be_read)
{
	expect_outcome(world_walk(w, code(2), 0x5000, 0), DP_READ_FAULT, 1);
	cr_assert(w->walk.out.sample.fault_address == 0x5008);
	world_poke(w, sp + 8, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 2);
	cr_assert(w->walk.out.sample.fault_address == 0);
}

Test(walk, reports_the_depth_limit)
{
	for (uint64_t i = 0; i < 50; i++)
		world_poke(w, sp + 16 * i + 8, code(2));
	w->walk.in.max_frames = 10;
	expect_outcome(world_walk(w, code(2), sp, 0), DP_DEPTH_LIMIT, 10);
	/* A stack of just as many frames is complete. */
	world_poke(w, sp + 16 * 8 + 8, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 10);
}

Test(walk, goes_as_deep_as_the_limit)
{
	uint64_t at = WORLD_STACK + 8;

	for (int i = 0; i < DP_MAX_FRAMES; i++)
		world_poke(w, at + 16 * (uint64_t)i + 8, code(2));
	expect_outcome(world_walk(w, code(2), at, 0), DP_DEPTH_LIMIT, DP_MAX_FRAMES);
	world_poke(w, at + 16 * (DP_MAX_FRAMES - 2) + 8, code(0));
	expect_outcome(world_walk(w, code(2), at, 0), DP_COMPLETE, DP_MAX_FRAMES);
}

Test(walk, names_a_return_address_of_zero)
{
	world_poke(w, sp + 8, 0);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_NULL_RETURN, 1);
	cr_assert_eq(w->walk.at.left_sp, sp + 16);
}

/* A return address outside all code is not shown as a frame. */
Test(walk, invents_no_frames)
{
	world_poke(w, sp + 8, 0x123456);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_NO_MAPPING, 1);
	world_poke(w, sp + 8, 0xffffffffffffffff);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_NO_MAPPING, 1);
}

/* The address that a program has jumped to is shown, wherever it is. */
Test(walk, shows_the_innermost_address_in_any_case)
{
	expect_outcome(world_walk(w, 0, sp, 0), DP_NO_MAPPING, 1);
	expect_frame(0, 0, DP_METHOD_LEAF);
}

Test(walk, names_a_refused_rule_and_does_not_fall_back)
{
	*world_rule(w, 1, 0) = (struct dp_rule){ .why = DP_UNSUPPORTED_RULE };
	world_poke(w, sp + 0x40, 0);
	world_poke(w, sp + 0x48, code(0));
	expect_outcome(world_walk(w, code(1), sp, sp + 0x40), DP_UNSUPPORTED_RULE, 1);
}

Test(walk, falls_back_to_the_frame_pointer_where_there_is_no_rule)
{
	int none = WORLD_FUNCTIONS - 1;

	world_poke(w, sp + 0x40, 0x99);
	world_poke(w, sp + 0x48, code(2));
	world_poke(w, sp + 0x50 + 8, code(0));
	expect_outcome(world_walk(w, code(none), sp, sp + 0x40), DP_COMPLETE, 3);
	expect_frame(1, code(2), DP_METHOD_FRAME_POINTER);
	expect_frame(2, code(0), DP_METHOD_TABLE);
	/* The same from code that is in no file. */
	expect_outcome(world_walk(w, WORLD_JIT + 5, sp, sp + 0x40), DP_COMPLETE, 3);
}

/* The code has unwind information, and probably no frame pointer. */
Test(walk, ends_where_a_table_was_evicted)
{
	struct dp_mapping *m =
		world_cell(w, WORLD_SPACE_CELL + sizeof(struct dp_snapshot) / DP_CELL_SIZE);

	m->image = DP_CELL_EVICTED;
	world_poke(w, sp + 0x40, 0x99);
	world_poke(w, sp + 0x48, code(0));
	expect_outcome(world_walk(w, code(1), sp, sp + 0x40), DP_TABLE_EVICTED, 1);
	/* Called from a binary whose table is there, and the other way round. */
	world_renumber(w, 8);
	world_poke(w, sp + 8, code(1));
	expect_outcome(world_walk(w, library(2), sp, sp + 0x40), DP_TABLE_EVICTED, 2);
	w->walk.in.unwind = DP_UNWIND_FP;
	expect_outcome(world_walk(w, code(1), sp, sp + 0x40), DP_BAD_FRAME_POINTER, 2);
}

Test(walk, does_not_fall_back_if_told_so)
{
	world_poke(w, sp + 0x40, 0x99);
	world_poke(w, sp + 0x48, code(0));
	w->walk.in.unwind = DP_UNWIND_DWARF;
	expect_outcome(world_walk(w, code(WORLD_FUNCTIONS - 1), sp, sp + 0x40), DP_NO_RULE, 1);
	expect_outcome(world_walk(w, WORLD_JIT, sp, sp + 0x40), DP_NO_TABLE, 1);
}

/* Not aligned, below the stack pointer, unreadable, or leading out of the code. */
Test(walk, falls_back_only_to_plausible_frame_pointers)
{
	uint64_t none = code(WORLD_FUNCTIONS - 1);

	world_poke(w, sp + 0x40, 0x99);
	world_poke(w, sp + 0x48, 0x123456);
	expect_outcome(world_walk(w, none, sp, sp + 0x40), DP_NO_RULE, 1);
	world_poke(w, sp + 0x48, code(0));
	world_poke(w, sp + 0x64, sp + 0x90);
	world_poke(w, sp + 0x6c, code(0));
	expect_outcome(world_walk(w, none, sp, sp + 0x64), DP_NO_RULE, 1);
	expect_outcome(world_walk(w, none, sp, sp - 0x40), DP_NO_RULE, 1);
	expect_outcome(world_walk(w, none, sp, 0x500000000000), DP_NO_RULE, 1);
	expect_outcome(world_walk(w, none, sp, 0), DP_NO_RULE, 1);
	expect_outcome(world_walk(w, none, sp, sp + 0x40), DP_COMPLETE, 2);
}

Test(walk, follows_frame_pointers_alone_to_their_end)
{
	w->walk.in.unwind = DP_UNWIND_FP;
	world_poke(w, sp + 0x40, sp + 0x80);
	world_poke(w, sp + 0x48, code(1));
	world_poke(w, sp + 0x80, 0);
	world_poke(w, sp + 0x88, library(2));
	expect_outcome(world_walk(w, code(2), sp, sp + 0x40), DP_CHAIN_END, 3);
	expect_frame(1, code(1), DP_METHOD_FRAME_POINTER);
	expect_frame(2, library(2), DP_METHOD_FRAME_POINTER);
	world_poke(w, sp + 0x80, sp + 0x40);
	expect_outcome(world_walk(w, code(2), sp, sp + 0x40), DP_BAD_FRAME_POINTER, 3);
}

/* Another binary has been mapped where this one was: its table must not be used. */
Test(walk, notices_that_a_binary_was_replaced)
{
	world_poke(w, sp + 8, library(1));
	world_poke(w, sp + 16 + 24, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 3);
	w->cookie++;
	expect_outcome(world_walk(w, code(2), sp, 0), DP_CODE_CHANGED, 0);
	w->cookie--;
	world_fault(w, WORLD_LIBRARY - WORLD_COOKIE_BELOW);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_TABLES_CHANGED, 1);
	cr_assert(w->fault_hit[0]);
}

/* What is cached for some mappings is not used for others. */
Test(walk, forgets_rules_with_their_memory_map)
{
	world_poke(w, sp + 8, code(0));
	world_poke(w, sp + 24, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 2);
	world_rule(w, 2, 32);
	world_poke(w, sp + 8, 0x666);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_NO_MAPPING, 1);
	world_renumber(w, 8);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 2);
}

/* The snapshot's memory was reused before the walk ended. */
Test(walk, sees_that_its_snapshot_is_gone)
{
	world_poke(w, sp + 8, code(0));
	w->walk.in.snapshot++;
	expect_outcome(world_walk(w, code(2), sp, 0), DP_TABLES_CHANGED, 2);
}

/* longjmp() keeps the caller's registers in other registers. */
static struct dp_rule *jump_rule(int n)
{
	struct dp_rule *rule = world_rule(w, n, 0);

	rule->cfa_reg = DP_RDI;
	rule->sp = (struct dp_where){ .kind = DP_WHERE_REGISTER, .reg = DP_R8 };
	rule->ra = (struct dp_where){ .kind = DP_WHERE_REGISTER, .reg = DP_RDX };
	w->walk.in.regs.reg[DP_RDI] = WORLD_STACK; /* the jump buffer, wherever that is */
	w->walk.in.regs.reg[DP_R8] = sp + 0x100;
	w->walk.in.regs.reg[DP_RDX] = code(2);
	return rule;
}

Test(walk, takes_the_stack_pointer_from_its_rule)
{
	jump_rule(1);
	world_poke(w, sp + 0x108, code(0));
	expect_outcome(world_walk(w, code(1), sp, 0), DP_COMPLETE, 3);
	expect_frame(1, code(2), DP_METHOD_TABLE);
	/* In memory */
	jump_rule(1)->sp =
		(struct dp_where){ .kind = DP_WHERE_MEMORY, .reg = DP_RDI, .offset = 0x30 };
	world_renumber(w, w->walk.in.snapshot + 1);
	world_poke(w, WORLD_STACK + 0x30, sp + 0x200);
	world_poke(w, sp + 0x208, library(0));
	expect_outcome(world_walk(w, code(1), sp, 0), DP_COMPLETE, 3);
	expect_frame(2, library(0), DP_METHOD_TABLE);
}

/* What a frame saved is relative to its CFA, wherever its caller's stack pointer is. */
Test(walk, finds_what_a_frame_with_a_stack_pointer_rule_saved)
{
	jump_rule(1)->saves = 1U << (DP_SAVED_RBX * DP_SLOT_BITS);
	w->walk.in.regs.reg[DP_RDI] = sp + 0x80;
	w->walk.in.regs.reg[DP_RDX] = code(3);
	world_rule(w, 3, 16)->cfa_reg = DP_RBX;
	world_poke(w, sp + 0x78, sp + 0x200);
	world_poke(w, sp + 0x208, code(0));
	expect_outcome(world_walk(w, code(1), sp, 0), DP_COMPLETE, 3);
}

Test(walk, takes_the_stack_pointer_from_its_rule_in_a_caller)
{
	world_poke(w, sp + 8, code(3));
	world_rule(w, 3, 16)->sp = (struct dp_where){ .kind = DP_WHERE_REGISTER, .reg = DP_RBX };
	w->walk.in.regs.reg[DP_RBX] = sp + 0x100;
	world_poke(w, sp + 24, library(2));
	world_poke(w, sp + 0x108, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 4);
	world_rule(w, 3, 16)->sp = (struct dp_where){ .kind = DP_WHERE_REGISTER, .reg = DP_R8 };
	world_renumber(w, w->walk.in.snapshot + 1);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_REGISTER_LOST, 2);
}

/* A jump to a stack further down cannot be distinguished from a walk in a circle. */
Test(walk, does_not_follow_a_stack_pointer_down)
{
	jump_rule(1);
	w->walk.in.regs.reg[DP_R8] = sp - 0x100;
	world_poke(w, sp - 0x100 + 8, code(0));
	expect_outcome(world_walk(w, code(1), sp, 0), DP_STACK_DIRECTION, 1);
	w->walk.in.regs.reg[DP_R8] = sp;
	world_poke(w, sp + 8, code(0));
	expect_outcome(world_walk(w, code(1), sp, 0), DP_COMPLETE, 3);
}

/* vfork() has taken its return address off the stack: the CFA is the stack pointer. */
Test(walk, finds_the_return_address_in_a_register)
{
	world_rule(w, 1, 0)->ra = (struct dp_where){ .kind = DP_WHERE_REGISTER, .reg = DP_RDI };
	w->walk.in.regs.reg[DP_RDI] = code(0);
	expect_outcome(world_walk(w, code(1), sp, 0), DP_COMPLETE, 2);
}
