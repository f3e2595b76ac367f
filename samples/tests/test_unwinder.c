// SPDX-License-Identifier: Apache-2.0
/* Walks that user space finishes on a copy of the stack, whole, in chunks, or cut. */
#include <criterion/criterion.h>

#include "bpf/tests/world.h"
#include "samples/unwinder.h"

/* A synthetic process whose tables were late: its stack is in chunks. */
static struct world *w;
static struct pool pool;
static struct unwinder *unwinder;
static struct stack_copy *copy;

static const uint64_t stack = 0x7ffe00000000;

static void begin(void)
{
	w = world_new();
	pool.segments = &w->segment;
	pool.n_segments = 1;
	world_root(w, 0);
	world_rule(w, 1, 32);
	/* There is nothing to compare a cookie with in a copied stack. */
	for (int i = 0; i < 3; i++)
		((struct dp_mapping *)world_cell(w, WORLD_SPACE_CELL +
							    DP_CELLS(struct dp_snapshot)))[i]
			.cookie_below = 0;
	cr_assert(unwinder_new(&pool, DP_UNWIND_AUTO, 100, &unwinder) == 0);
}

static void end(void)
{
	stack_copy_free(copy);
	unwinder_free(unwinder);
	world_free(w);
}

TestSuite(unwinder, .init = begin, .fini = end);

/* A chunk at an address, with a word somewhere in it. */
static void add_chunk(uint64_t start, uint32_t size, uint64_t at, uint64_t word)
{
	struct dp_chunk *chunk = calloc(1, sizeof(*chunk) + size);

	chunk->part = (struct dp_part){ DP_RECORD_CHUNK, (__u16)(sizeof(*chunk) + size) };
	chunk->tid = 5;
	chunk->start = start;
	chunk->n_bytes = size;
	chunk->regs.reg[DP_REG_PC] = WORLD_IN(WORLD_CODE, 1);
	chunk->regs.reg[DP_REG_SP] = stack + 16;
	if (at)
		memcpy((uint8_t *)(chunk + 1) + (at - start), &word, sizeof(word));
	cr_assert(stack_copy_add(&copy, chunk) == 0);
	free(chunk);
}

static struct unwinder_result walk(void)
{
	const struct snapshot snapshot = { .id = 7, .cell = WORLD_SPACE_CELL };

	return unwinder_walk(unwinder, copy, &snapshot);
}

/* Part of a larger read may be behind the end of the copy. */
Test(unwinder, says_that_a_copy_ends_in_a_signal_context)
{
	struct unwinder_result r;

	world_rule(w, 1, DP_CHUNK_SIZE - 16 - 64)->cfa = DP_CFA_SIGNAL;
	add_chunk(stack, DP_CHUNK_SIZE, 0, 0);
	r = walk();
	cr_assert(r.outcome == DP_STACK_COPY_END, "%d", r.outcome);
	cr_assert(r.n_frames == 1);
}

Test(unwinder, walks_a_copied_stack)
{
	struct unwinder_result r;

	add_chunk(stack, 4096, stack + 16 + 24, WORLD_IN(WORLD_CODE, 0));
	r = walk();
	cr_assert(r.outcome == DP_COMPLETE && r.n_frames == 2);
	cr_assert(r.cfas[0] == stack + 16 + 32 && r.cfas[1] == 0);
	cr_assert(DP_FRAME_ADDRESS(r.frames[1]) == WORLD_IN(WORLD_CODE, 0));
	cr_assert(copy->tid == 5 && copy->n_parts == 1);
}

/* Chunks that follow each other in memory are one part, however many. */
Test(unwinder, joins_chunks)
{
	struct unwinder_result r;

	world_rule(w, 1, 2 * DP_CHUNK_SIZE);
	add_chunk(stack, DP_CHUNK_SIZE, 0, 0);
	add_chunk(stack + DP_CHUNK_SIZE, DP_CHUNK_SIZE, 0, 0);
	add_chunk(stack + 2 * DP_CHUNK_SIZE, 4096, stack + 16 + 2 * DP_CHUNK_SIZE - 8,
		  WORLD_IN(WORLD_CODE, 0));
	r = walk();
	cr_assert(copy->n_parts == 1 && copy->parts[0].size == 2 * DP_CHUNK_SIZE + 4096);
	cr_assert(r.outcome == DP_COMPLETE && r.n_frames == 2);
}

/* From a signal handler's alternate stack the walk goes on to the normal one. */
Test(unwinder, goes_from_one_stack_to_another)
{
	const uint64_t other = 0x7ffd00000000;
	struct dp_rule *rule = world_rule(w, 1, 64);
	struct unwinder_result r;

	rule->cfa = DP_CFA_MEMORY;
	add_chunk(stack, 4096, stack + 16 + 64, stack + 0x400000000 + 16);
	add_chunk(other, 4096, 0, 0);
	add_chunk(stack + 0x400000000, 4096, stack + 0x400000000 + 8, WORLD_IN(WORLD_CODE, 0));
	r = walk();
	cr_assert(copy->n_parts == 3);
	cr_assert(r.outcome == DP_COMPLETE && r.n_frames == 2);
}

/* If the copy was cut off, that is said; if the memory ended, it is a fault. */
Test(unwinder, tells_a_cut_copy_from_unreadable_memory)
{
	world_rule(w, 1, DP_CHUNK_SIZE + 64);
	add_chunk(stack, DP_CHUNK_SIZE, 0, 0);
	cr_assert(walk().outcome == DP_STACK_COPY_END);
	stack_copy_free(copy);
	copy = NULL;
	add_chunk(stack, 4096, 0, 0);
	cr_assert(walk().outcome == DP_READ_FAULT);
}

/* Where a landing continues depends on the code, which is not in the copy but in the file. */
Test(unwinder, asks_the_file_for_calls)
{
	static uint8_t code[DP_PAGE_SIZE];
	struct elf_code section = { .size = sizeof(code) };
	struct binary binary = { .elf = { .code = &section, .n_code = 1 },
				 .bytes = code,
				 .n_bytes = sizeof(code) };
	struct mapping mapping = { .start = WORLD_CODE,
				   .end = WORLD_CODE + DP_PAGE_SIZE,
				   .bias = WORLD_CODE,
				   .binary = &binary };
	struct snapshot snapshot = {
		.id = 7, .cell = WORLD_SPACE_CELL, .mappings = &mapping, .n_mappings = 1
	};
	const uint64_t handler = WORLD_IN(WORLD_CODE, 2);
	struct unwinder_result r;

	world_rule(w, 1, 32)->lands = 1;
	world_rule(w, 2, 16);
	world_renumber(w, 8);
	snapshot.id = 8;
	add_chunk(stack, 4096, stack + 16 + 24, handler);
	r = unwinder_walk(unwinder, copy, &snapshot);
	cr_assert(r.n_frames == 2 && DP_FRAME_METHOD(r.frames[1]) == DP_METHOD_LANDING_PAD);
	code[handler - WORLD_CODE - 5] = 0xe8;
	r = unwinder_walk(unwinder, copy, &snapshot);
	cr_assert(r.n_frames == 2 && DP_FRAME_METHOD(r.frames[1]) == DP_METHOD_TABLE);
}
