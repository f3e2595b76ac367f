// SPDX-License-Identifier: Apache-2.0
/* Walks from calls of addresses without code. */
#include <criterion/criterion.h>

#include "bpf/tests/world.h"
#include "samples/crash_walk.h"

/* The end of a direct call, and a move of the same length. */
#define CALL (0xe8ULL << 24)
#define MOVE (0xb8ULL << 24)

static const uint64_t stack = 0x7ffe00000000;

static struct world *w;
static struct pool pool;
static struct unwinder *unwinder;
static struct stack_copy *copy;
static struct mapping mapping = { .start = WORLD_CODE, .end = WORLD_CODE + DP_PAGE_SIZE };
static struct snapshot snapshot;
static struct dp_crash crash;

/* Function 0, the root, has called function 1, and that an address without code. */
static void begin_with(unsigned int max_frames)
{
	struct dp_chunk *chunk = calloc(1, sizeof(*chunk) + 4096);
	const uint64_t caller = WORLD_IN(WORLD_CODE, 0);

	w = world_new();
	pool.segments = &w->segment;
	pool.n_segments = 1;
	world_root(w, 0);
	world_rule(w, 1, 32);
	for (int i = 0; i < 3; i++)
		((struct dp_mapping *)world_cell(w, WORLD_SPACE_CELL +
							    DP_CELLS(struct dp_snapshot)))[i]
			.cookie_below = 0;
	cr_assert(unwinder_new(&pool, DP_UNWIND_AUTO, max_frames, &unwinder) == 0);
	snapshot = (struct snapshot){
		.id = 7, .cell = WORLD_SPACE_CELL, .mappings = &mapping, .n_mappings = 1
	};
	crash = (struct dp_crash){ .stack_top = WORLD_IN(WORLD_CODE, 1), .in_front = CALL };
	chunk->part = (struct dp_part){ DP_RECORD_CHUNK, (__u16)(sizeof(*chunk) + 4096) };
	chunk->start = stack;
	chunk->n_bytes = 4096;
	chunk->regs.reg[DP_REG_SP] = stack + 16;
	memcpy((uint8_t *)(chunk + 1) + DP_FRAME_CFA(16) + 32 - 8, &caller, sizeof(caller));
	cr_assert(stack_copy_add(&copy, chunk) == 0);
	free(chunk);
}

static void begin(void)
{
	begin_with(100);
}

static void end(void)
{
	copy = stack_copy_free(copy);
	unwinder_free(unwinder);
	world_free(w);
}

TestSuite(crash_walk, .init = begin, .fini = end);

static struct unwinder_result walk(void)
{
	return crash_walk(unwinder, &crash, copy, &snapshot);
}

Test(crash_walk, goes_on_from_the_top_of_the_stack)
{
	struct unwinder_result r = walk();

	cr_assert(r.outcome == DP_COMPLETE && r.n_frames == 3);
	cr_assert_eq(r.frames[0], 0);
	cr_assert_eq(DP_FRAME_ADDRESS(r.frames[1]), WORLD_IN(WORLD_CODE, 1));
	cr_assert_eq(DP_FRAME_METHOD(r.frames[1]), DP_METHOD_STACK_TOP);
	cr_assert_eq(DP_FRAME_ADDRESS(r.frames[2]), WORLD_IN(WORLD_CODE, 0));
	cr_assert_eq(DP_FRAME_METHOD(r.frames[2]), DP_METHOD_TABLE);
	cr_assert(DP_METHOD_IS_CALLER(DP_METHOD_STACK_TOP));
}

/* The call may be a function's last instruction, when the address is another function's. */
Test(crash_walk, looks_up_the_call)
{
	struct unwinder_result r;

	crash.stack_top = WORLD_CODE + 2 * WORLD_FUNCTION_SIZE;
	world_rule(w, 2, 1024);
	world_renumber(w, 8);
	snapshot.id = 8;
	r = walk();
	cr_assert(r.outcome == DP_COMPLETE && r.n_frames == 3, "%d", r.outcome);
}

static void expect_no_caller(void)
{
	struct unwinder_result r = walk();

	cr_assert(r.outcome == DP_NO_MAPPING && r.n_frames == 1);
}

Test(crash_walk, believes_nothing_but_calls)
{
	crash.in_front = MOVE;
	expect_no_caller();
	crash.in_front = CALL;
	crash.stack_top = stack;
	expect_no_caller();
	crash.stack_top = 0;
	expect_no_caller();
}

Test(crash_walk, does_not_know_without_all_mappings)
{
	snapshot.lacks_some = true;
	expect_no_caller();
}

Test(crash_walk, is_as_usual_in_code)
{
	const uint64_t caller = WORLD_IN(WORLD_CODE, 0);
	struct unwinder_result r;

	copy->regs.reg[DP_REG_PC] = WORLD_IN(WORLD_CODE, 1);
	memcpy(copy->parts[0].bytes + 16 + 32 - 8, &caller, sizeof(caller));
	r = walk();
	cr_assert(r.outcome == DP_COMPLETE && r.n_frames == 2);
	cr_assert_eq(DP_FRAME_ADDRESS(r.frames[0]), WORLD_IN(WORLD_CODE, 1));
}

Test(crash_walk, keeps_to_the_limit)
{
	struct unwinder_result r;

	end();
	begin_with(2);
	r = walk();
	cr_assert(r.outcome == DP_DEPTH_LIMIT && r.n_frames == 2);
	cr_assert_eq(DP_FRAME_METHOD(r.frames[1]), DP_METHOD_STACK_TOP);
}
