// SPDX-License-Identifier: Apache-2.0
/* Return addresses that were found by frame pointers must be behind a call. */
#include <stdio.h>

#include "bpf/tests/world_fixture.h"

TestSuite(calls, .init = begin, .fini = end);

/* Writes the code in front of a return address. */
static void behind(uint64_t address, const char *hex)
{
	uint8_t *to = w->code + DP_PAGE_SIZE + (address - WORLD_CODE);
	unsigned int byte, i = 0;
	int n;

	memset(to - 8, 0x90, 8);
	for (const char *from = hex; sscanf(from, " %2x%n", &byte, &n) == 1; from += n)
		i++;
	for (to -= i; sscanf(hex, " %2x%n", &byte, &n) == 1; hex += n)
		*to++ = (uint8_t)byte;
	/* Addresses once checked are cached. */
	world_renumber(w, w->walk.in.snapshot + 1);
}

/* The forms of CALL in Intel's manual, as GNU as writes them. */
Test(calls, knows_calls)
{
	static const char *const calls[] = {
		"e8 00 00 00 00",
		"66 48 e8 11 22 33 44",
		"ff d0",
		"41 ff d7",
		"ff 10",
		"41 ff 14 24",
		"ff 55 08",
		"ff 54 24 08",
		"ff 15 00 00 00 00",
		"ff 90 00 01 00 00",
		"ff 94 24 00 01 00 00",
		"ff 14 c5 00 00 00 00",
		"ff 14 c8",
		"42 ff 54 e0 10",
		"cc 11 22 33 44",
		"cc ff d7",
	};
	static const char *const others[] = {
		"90",    "e9 00 00 00 00", "ff e0",    "ff 25 00 00 00 00", "ff 30", "e8 00 00 00",
		"ff 50", "ff 14",          "ff 15 00", "ff 90 00 01 00",    "c3",    "ff 18",
	};
	const int none = WORLD_FUNCTIONS - 1;

	world_poke(w, sp + 0x40, 0);
	world_poke(w, sp + 0x48, code(1));
	world_poke(w, sp + 0x50 + 24, code(0));
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		behind(code(1), calls[i]);
		expect_outcome(world_walk(w, code(none), sp, sp + 0x40), DP_COMPLETE, 3);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		behind(code(1), others[i]);
		cr_expect(world_walk(w, code(none), sp, sp + 0x40) == DP_NO_RULE, "%s", others[i]);
		cr_expect(w->walk.at.n_frames == 1);
	}
}

/*
 * A landing in a handler "returns" to code that made no call. The rule is that of the address
 * itself: another function may precede it.
 */
Test(calls, are_not_asked_for_behind_a_landing)
{
	const uint64_t handler = WORLD_CODE + 3 * WORLD_FUNCTION_SIZE;
	struct dp_rule *landing = world_rule(w, 2, 16);

	world_rule(w, 3, 48);
	behind(handler, "90");
	world_poke(w, sp + 8, handler);
	world_poke(w, sp + 16 + 40, code(0));
	landing->lands = DP_LANDS_MAYBE;
	world_renumber(w, w->walk.in.snapshot + 1);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 3);
	cr_assert(DP_FRAME_METHOD(w->walk.out.frames[1]) == DP_METHOD_LANDING_PAD);
	cr_assert(DP_FRAME_METHOD(w->walk.out.frames[2]) == DP_METHOD_TABLE);
	/* Nor is it checked if the landing function was itself called. */
	world_poke(w, sp + 24, code(2));
	world_poke(w, sp + 32 + 8, handler);
	world_poke(w, sp + 32 + 16 + 40, code(0));
	for (int i = 0; i < 3; i++) {
		expect_outcome(world_walk(w, code(1), sp, 0), DP_COMPLETE, 4);
		cr_assert(DP_FRAME_METHOD(w->walk.out.frames[2]) == DP_METHOD_LANDING_PAD);
	}
	/* A caller is checked as usual. */
	world_poke(w, sp + 8, code(3));
	behind(code(3), "ff d0");
	world_poke(w, sp + 16 + 40, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 3);
	cr_assert(DP_FRAME_METHOD(w->walk.out.frames[1]) == DP_METHOD_TABLE);
	/* User space checks frames without a landing. */
	behind(code(3), "90");
	landing->lands = DP_LANDS_NOT;
	world_renumber(w, w->walk.in.snapshot + 1);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 3);
	cr_assert(DP_FRAME_METHOD(w->walk.out.frames[1]) == DP_METHOD_TABLE);
}

/* Writes code, or an address of it. */
static void put(uint64_t address, const void *bytes, size_t size)
{
	memcpy(w->code + DP_PAGE_SIZE + (address - WORLD_CODE), bytes, size);
	world_renumber(w, w->walk.in.snapshot + 1);
}

/* Writes a call of `opcode`, which ends at an address, with a displacement to another one. */
static void call(const char *opcode, uint64_t end, uint64_t to)
{
	int32_t relative = (int32_t)(to - end);

	behind(end, opcode);
	put(end - sizeof(relative), &relative, sizeof(relative));
}

/*
 * At its end, a landing function has the return address of the handler's callee. Of the handler's frame, only fp is
 * known then.
 */
Test(calls, lead_to_a_landing_function_until_it_has_landed)
{
	static const char *const stubs[] = {
		"ff 25 00 00 00 00",
		"f2 ff 25 00 00 00 00",
		"f3 0f 1e fa ff 25 00 00 00 00",
		"f3 0f 1e fa f2 ff 25 00 00 00 00",
	};
	const uint64_t start = code(2) - 16, stub = WORLD_CODE + 60 * WORLD_FUNCTION_SIZE,
		       slot = WORLD_CODE + 61 * WORLD_FUNCTION_SIZE, far = code(2) + 8192;

	memset(w->code, 0x90, sizeof(w->code));
	world_rule(w, 2, 16)->lands = DP_LANDS_MAYBE;
	world_rule(w, 3, 48);
	world_poke(w, sp + 8, code(3));
	world_poke(w, sp + 16 + 40, code(1));
	world_poke(w, sp + 64 + 24, code(0));
	behind(code(1), "ff d0");
	/* The call of another function, before the end and at it. */
	call("e8 00 00 00 00", code(3), code(4));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 4);
	put(code(2) + 125, "\x48\x89\xcc", 3);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_NO_CALL, 2);
	put(code(2) + 125, "\x48\x89\xdc", 3);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 4);
	put(code(2), "\x48\x89\xcc", 3);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_NO_CALL, 2);
	/* It has called a function itself. */
	world_poke(w, sp - 32 + 24, code(2));
	expect_outcome(world_walk(w, code(1), sp - 32, 0), DP_NO_CALL, 3);
	/* Calls that lead to it, in all forms. */
	call("e8 00 00 00 00", code(3), start);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 4);
	for (size_t i = 0; i < sizeof(stubs) / sizeof(*stubs); i++) {
		size_t size = (strlen(stubs[i]) + 1) / 3;

		call(stubs[i], stub + size, slot);
		call("e8 00 00 00 00", code(3), stub);
		put(slot, &start, sizeof(start));
		expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 4);
		put(slot, &far, sizeof(far));
		expect_outcome(world_walk(w, code(2), sp, 0), DP_NO_CALL, 2);
	}
	call("ff 15 00 00 00 00", code(3), slot);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_NO_CALL, 2);
	put(slot, &start, sizeof(start));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 4);
	/* At the end, one that is not known is another one. */
	behind(code(3), "ff d0");
	expect_outcome(world_walk(w, code(2), sp, 0), DP_NO_CALL, 2);
	put(code(2), "\x90\x90\x90", 3);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 4);
}

/* If it has a frame pointer, or its callee has a frame of the same size. */
Test(calls, may_show_that_the_frame_of_a_handler_is_known)
{
	world_rule(w, 2, 16)->lands = DP_LANDS_MAYBE;
	world_rule(w, 3, 48);
	memset(w->code, 0x90, sizeof(w->code));
	call("e8 00 00 00 00", code(3), code(4));
	behind(code(1), "ff d0");
	put(code(2), "\x48\x89\xcc", 3);
	world_poke(w, sp + 8, code(3));
	world_poke(w, sp + 16 + 40, code(3));
	world_poke(w, sp + 64 + 40, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 4);
	/* The handler's address is in place of its callee's return address. */
	world_rule(w, 4, 48);
	world_poke(w, sp + 16 + 40, code(4));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 4);
	world_poke(w, sp + 16 + 40, code(1));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_NO_CALL, 2);
	world_rule(w, 3, 16)->cfa_reg = DP_REG_FP;
	world_renumber(w, w->walk.in.snapshot + 1);
	world_poke(w, sp + 0x88, code(1));
	world_poke(w, sp + 0x90 + 24, code(0));
	expect_outcome(world_walk(w, code(2), sp, sp + 0x80), DP_COMPLETE, 4);
}

/*
 * A call that a signal handler has inserted returns to the interrupted code, behind a call or not.
 */
Test(calls, are_not_asked_for_where_a_frame_was_put)
{
	struct dp_rule *put = world_rule(w, 2, 16);
	const uint64_t start = WORLD_CODE + 3 * WORLD_FUNCTION_SIZE;

	put->lands = DP_LANDS;
	world_rule(w, 3, 48);
	world_renumber(w, w->walk.in.snapshot + 1);
	behind(code(3), "ff d0");
	world_poke(w, sp + 8, code(3));
	world_poke(w, sp + 16 + 40, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 3);
	cr_assert(DP_FRAME_METHOD(w->walk.out.frames[1]) == DP_METHOD_LANDING_PAD);
	/* If it may land, a call is trusted, */
	put->lands = DP_LANDS_MAYBE;
	world_renumber(w, w->walk.in.snapshot + 1);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 3);
	cr_assert(DP_FRAME_METHOD(w->walk.out.frames[1]) == DP_METHOD_TABLE);
	/* but not padding that looks like one before a function's start. */
	*world_rule(w, 2, 0) = (struct dp_rule){ .cfa = DP_CFA_NONE, .why = DP_NO_RULE };
	world_rule(w, 4, 16)->lands = DP_LANDS_MAYBE;
	world_renumber(w, w->walk.in.snapshot + 1);
	behind(start, "cc cc cc cc cc cc cc cc");
	world_poke(w, sp + 8, start);
	expect_outcome(world_walk(w, code(4), sp, 0), DP_COMPLETE, 3);
	cr_assert(DP_FRAME_METHOD(w->walk.out.frames[1]) == DP_METHOD_LANDING_PAD);
}

Test(calls, asks_for_a_call_in_files_that_are_in_memory)
{
	int none = WORLD_FUNCTIONS - 1;

	/* A root, and the code to which a signal handler returns, are not called. */
	behind(code(0), "90");
	world_poke(w, sp + 8, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 2);
	/* By the frame pointer */
	behind(code(1), "90");
	world_poke(w, sp + 0x40, 0);
	world_poke(w, sp + 0x48, code(1));
	expect_outcome(world_walk(w, code(none), sp, sp + 0x40), DP_NO_RULE, 1);
	w->walk.in.unwind = DP_UNWIND_FP;
	expect_outcome(world_walk(w, code(2), sp, sp + 0x40), DP_BAD_FRAME_POINTER, 1);
	w->walk.in.unwind = DP_UNWIND_AUTO;
	/*
	 * Nor is the code to which a signal handler returns by a frame pointer: the kernel has put
	 * it there.
	 */
	world_rule(w, 4, 0)->cfa = DP_CFA_SIGNAL;
	behind(code(4), "90");
	world_poke(w, sp + 0x48, code(4));
	world_poke(w, sp + 0x50 + 15 * 8, sp + 0x400); /* sp */
	world_poke(w, sp + 0x50 + 16 * 8, code(0));    /* rip */
	expect_outcome(world_walk(w, code(none), sp, sp + 0x40), DP_COMPLETE, 3);
	cr_assert(DP_FRAME_METHOD(w->walk.out.frames[2]) == DP_METHOD_SIGNAL);
	/* JIT code */
	world_poke(w, sp + 0x48, WORLD_JIT + 0x10);
	expect_outcome(world_walk(w, code(none), sp, sp + 0x40), DP_CHAIN_END, 2);
	/* Code that is not in memory cannot be checked. */
	world_poke(w, sp + 0x48, code(1));
	world_poke(w, sp + 0x50 + 24, code(0));
	world_fault(w, code(1));
	expect_outcome(world_walk(w, code(none), sp, sp + 0x40), DP_COMPLETE, 3);
}
