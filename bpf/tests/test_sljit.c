// SPDX-License-Identifier: Apache-2.0
/* Chunks of sljit's allocator in memory, with functions as PCRE2 10.42 has them. */
#include "bpf/tests/world_fixture.h"

#define CHUNKS 3
#define HEADER 16
#define BLOCK 0x100 /* of each function, or free */

/* In a function: pushes, mov, sub; at the end pops and ret. */
enum {
	MOVE = 8, /* behind five pushes */
	MAKE = 11,
	COMPLETE = 15,
	ENTER = 0x40, /* of a subroutine */
	CALL = 0x80,
	LEAVE = 0xc0,
	POP = LEAVE + 4,
	RETURN = POP + 8
};
/* Bytes above the stack pointer: room, and above it registers, of which rbp is the lowest. */
enum { ROOM = 0x50, SAVED = 5 * 8, FRAME = ROOM + SAVED };

static const uint8_t enter[] = { 0x53, 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x55,
				 0x48, 0x89, 0xfb, 0x48, 0x83, 0xec, ROOM };
static const uint8_t leave[] = { 0x48, 0x83, 0xc4, ROOM, 0x5d, 0x41, 0x5d,
				 0x41, 0x5e, 0x41, 0x5f, 0x5b, 0xc3 };
/* pop %rax; nop; push %rax; ret */
static const uint8_t subroutine[] = { 0x58, 0x90, 0x50, 0xc3 };
/* pop 0x10(%rsp) */
static const uint8_t into_memory[] = { 0x8f, 0x44, 0x24, 0x10 };
static const uint8_t call[] = { 0xe8, 0xbb, 0xff, 0xff, 0xff };

static uint8_t memory[CHUNKS * SLJIT_CHUNK];

/* Bytes at a distance from the memory's beginning. */
static void put(uint64_t at, const void *bytes, size_t size)
{
	memcpy(memory + at, bytes, size);
}

static void put_word(uint64_t at, uint64_t word)
{
	put(at, &word, sizeof(word));
}

static void put_function(uint64_t at, uint64_t previous)
{
	put_word(at, BLOCK);
	put_word(at + 8, previous);
	at += HEADER;
	memset(memory + at, 0x90, BLOCK - HEADER);
	put(at, enter, sizeof(enter));
	put(at + ENTER, subroutine, sizeof(subroutine));
	put(at + CALL, call, sizeof(call));
	put(at + LEAVE, leave, sizeof(leave));
}

static void put_free(uint64_t at, uint64_t previous, uint64_t size)
{
	put_word(at, 0);
	put_word(at + 8, previous);
	put_word(at + 32, size);
}

/* Two functions, memory that is free, two more, and the chunk's end. */
static void put_chunk(uint64_t at)
{
	put_function(at, 0);
	put_function(at + BLOCK, BLOCK);
	put_free(at + 2 * BLOCK, BLOCK, 4 * BLOCK);
	put_function(at + 6 * BLOCK, 4 * BLOCK);
	put_function(at + 7 * BLOCK, BLOCK);
	put_word(at + 8 * BLOCK, 1);
	put_word(at + 8 * BLOCK + 8, BLOCK);
}

static void begin_sljit(void)
{
	struct dp_mapping *m;

	begin();
	m = world_cell(w, WORLD_SPACE_CELL + sizeof(struct dp_snapshot) / DP_CELL_SIZE);
	m[1].end = m[1].start + sizeof(memory);
	w->jit = memory;
	w->jit_size = sizeof(memory);
	memset(memory, 0, sizeof(memory));
	for (uint64_t i = 0; i < CHUNKS; i++)
		put_chunk(i * SLJIT_CHUNK);
	memset(w->stack, 0x55, 0x4000);
}

TestSuite(sljit, .init = begin_sljit, .fini = end);

/* The address so many bytes into the function of a block. */
static uint64_t inside(uint64_t block, uint64_t bytes)
{
	return WORLD_JIT + block * BLOCK + HEADER + bytes;
}

/* Walks from pc, with a return address so many bytes above the stack pointer. */
static void expect_left(uint64_t pc, uint64_t above)
{
	world_poke(w, sp + above, code(0));
	expect_outcome(world_walk(w, pc, sp, 0x77), DP_COMPLETE, 2);
	cr_assert_eq(DP_FRAME_METHOD(w->walk.out.frames[1]), DP_METHOD_JIT);
	cr_assert_eq(w->walk.at.sp, sp + above + 8);
}

static void expect_unknown(uint64_t pc)
{
	world_poke(w, sp + FRAME, code(0));
	expect_outcome(world_walk(w, pc, sp, 0x77), DP_NO_TABLE, 1);
}

Test(sljit, leaves_a_function_and_restores_the_frame_pointer)
{
	world_poke(w, sp + ROOM, 0x1234);
	expect_left(inside(0, COMPLETE), FRAME);
	cr_assert_eq(w->walk.at.fp, 0x1234);
	expect_left(inside(0, LEAVE), FRAME);
}

Test(sljit, finds_functions_behind_others_behind_free_memory_and_in_other_chunks)
{
	for (uint64_t i = 0; i < CHUNKS; i++) {
		uint64_t first = i * SLJIT_CHUNK / BLOCK;

		expect_left(inside(first, COMPLETE), FRAME);
		expect_left(inside(first + 1, COMPLETE), FRAME);
		expect_left(inside(first + 6, COMPLETE), FRAME);
		expect_left(inside(first + 7, COMPLETE), FRAME);
	}
}

Test(sljit, knows_how_much_of_its_frame_is_made)
{
	static const uint64_t pushes[] = { 0, 1, 3, 5, 7, MOVE };

	for (uint64_t i = 0; i < sizeof(pushes) / sizeof(*pushes); i++)
		expect_left(inside(1, pushes[i]), 8 * i);
	world_poke(w, sp, 0x1234);
	expect_left(inside(1, MOVE), SAVED);
	cr_assert_eq(w->walk.at.fp, 0x1234, "it is pushed last");
	expect_left(inside(1, 7), SAVED - 8);
	cr_assert_eq(w->walk.at.fp, 0x77, "not pushed yet");
	expect_left(inside(1, MAKE), SAVED);
}

Test(sljit, knows_how_much_of_its_frame_is_left)
{
	static const uint64_t pops[] = {
		RETURN, RETURN - 1, RETURN - 3, RETURN - 5, RETURN - 7, POP
	};

	for (uint64_t i = 0; i < sizeof(pops) / sizeof(*pops); i++)
		expect_left(inside(1, pops[i]), 8 * i);
	world_poke(w, sp, 0x1234);
	expect_left(inside(1, POP), SAVED);
	cr_assert_eq(w->walk.at.fp, 0x1234, "it is still to be popped");
	expect_left(inside(1, RETURN - 7), SAVED - 8);
	cr_assert_eq(w->walk.at.fp, 0x77, "already popped");
}

Test(sljit, leaves_its_subroutines)
{
	uint64_t back = inside(1, CALL + sizeof(call));

	world_poke(w, sp, back);
	expect_left(inside(1, ENTER), FRAME + 8);
	world_poke(w, sp + FRAME + 8, 0x55);
	expect_left(inside(1, ENTER + 1), FRAME);
	/* Into memory. */
	put(BLOCK + HEADER + ENTER, into_memory, sizeof(into_memory));
	expect_left(inside(1, ENTER), FRAME + 8);
	put(BLOCK + HEADER + ENTER, subroutine, sizeof(subroutine));
	/* Before it returns, it is a frame of its own. */
	world_poke(w, sp + 8 + FRAME, code(0));
	expect_outcome(world_walk(w, inside(1, ENTER + 3), sp, 0x77), DP_COMPLETE, 3);
	cr_assert_eq(DP_FRAME_ADDRESS(w->walk.out.frames[1]), back);
}

Test(sljit, leaves_a_function_that_has_called)
{
	world_poke(w, sp + 8, inside(6, CALL + sizeof(call)));
	world_poke(w, sp + 16 + FRAME, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0x77), DP_COMPLETE, 3);
	/* Not one that would have to have called from elsewhere. */
	world_poke(w, sp + 16 + FRAME, 0x55);
	world_poke(w, sp + 16 + FRAME + 8, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0x77), DP_NO_TABLE, 2);
}

Test(sljit, has_large_frames)
{
	static const uint8_t large[] = { 0x48, 0x81, 0xec, 0x80, 0x04, 0, 0 };

	put(HEADER + MAKE, large, sizeof(large));
	expect_left(inside(0, MAKE), SAVED);
	expect_left(inside(0, MAKE + sizeof(large)), 0x480 + SAVED);
}

Test(sljit, may_begin_with_a_landing_for_jumps)
{
	static const uint8_t landing[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	put(HEADER, landing, sizeof(landing));
	put(HEADER + sizeof(landing), enter, sizeof(enter));
	expect_left(inside(0, 0), 0);
	expect_left(inside(0, sizeof(landing) + 1), 8);
	expect_left(inside(0, sizeof(landing) + COMPLETE), FRAME);
}

Test(sljit, leaves_only_to_where_a_call_is)
{
	world_poke(w, sp + FRAME, WORLD_JIT + 0x100000);
	expect_outcome(world_walk(w, inside(0, COMPLETE), sp, 0x77), DP_NO_TABLE, 1);
	memset(w->code, 0x90, sizeof(w->code));
	expect_unknown(inside(0, COMPLETE));
}

Test(sljit, knows_its_memory_by_its_blocks)
{
	put(2 * BLOCK + HEADER, enter, sizeof(enter));
	expect_unknown(inside(2, COMPLETE)); /* free */
	expect_unknown(inside(0, 0) - 1);    /* a header */
	expect_unknown(inside(9, COMPLETE)); /* behind the end */
	put_word(6 * BLOCK + 8, 3 * BLOCK);  /* not what the block before says */
	expect_unknown(inside(6, COMPLETE));
	expect_unknown(inside(7, COMPLETE));
	put_word(BLOCK, 8);
	expect_unknown(inside(1, COMPLETE));
	w->jit_size = HEADER;
	expect_unknown(inside(0, COMPLETE));
}

Test(sljit, knows_a_block_by_the_one_behind_it)
{
	put_word(BLOCK + 8, BLOCK - 16);
	expect_unknown(inside(0, COMPLETE));
	put_word(BLOCK + 8, BLOCK);
	expect_left(inside(0, COMPLETE), FRAME);
	put_word(8 * BLOCK + 8, 0);
	expect_unknown(inside(7, COMPLETE));
}

Test(sljit, does_not_call_itself_but_for_subroutines)
{
	world_poke(w, sp + FRAME, inside(1, CALL + sizeof(call)));
	expect_outcome(world_walk(w, inside(1, COMPLETE), sp, 0x77), DP_NO_TABLE, 1);
	/* In another one's, it may be. */
	world_poke(w, sp + 2 * FRAME + 8, code(0));
	expect_outcome(world_walk(w, inside(0, COMPLETE), sp, 0x77), DP_COMPLETE, 3);
}

Test(sljit, has_no_frame_pointer)
{
	uint64_t fp = sp + 0x200;

	world_poke(w, sp + FRAME, 0x55);
	world_poke(w, fp, 0);
	world_poke(w, fp + DP_FP_RA, code(0));
	expect_outcome(world_walk(w, inside(0, COMPLETE), sp, fp), DP_NO_TABLE, 1);
	/* Other memory has. */
	put_word(BLOCK + 8, 0);
	expect_outcome(world_walk(w, inside(0, COMPLETE), sp, fp), DP_COMPLETE, 2);
	cr_assert_eq(DP_FRAME_METHOD(w->walk.out.frames[1]), DP_METHOD_FRAME_POINTER);
}

Test(sljit, has_no_huge_frames)
{
	static const uint8_t huge[] = { 0x48, 0x81, 0xec, 0xf8, 0xff, 0xff, 0xff };

	/* With what it saves, 32 bytes. */
	put(HEADER + MAKE, huge, sizeof(huge));
	world_poke(w, sp + 32, code(0));
	expect_unknown(inside(0, MAKE + sizeof(huge)));
}

Test(sljit, knows_its_functions_by_how_they_begin)
{
	static const uint8_t none[] = { 0x90, 0x90, 0x90, 0x90 };

	put(HEADER + MAKE, none, sizeof(none));
	expect_unknown(inside(0, COMPLETE));
	memset(memory + HEADER, 0x50, 0x30);
	expect_unknown(inside(0, COMPLETE));
}
