// SPDX-License-Identifier: Apache-2.0
/* Stacks of virtual threads whose outer frames HotSpot has left in the heap (bpf/thaw.h). */
#include "bpf/tests/world_fixture.h"

#define HOTSPOT_CELLS (DP_SEGMENT_CELLS - 2 * sizeof(struct dp_hotspot) / DP_CELL_SIZE)
#define SEGMENT 64
/* A compiled method, and the stubs: where they begin, and their code. */
enum {
	METHOD = 0,
	STUBS = 4 * SEGMENT,
	N_SEGMENTS = 8,
	HEADER = 16,
	BLOB_CODE = 0x40,
	MAP = 0x1000
};
enum { FRAME = 32, BARRIER = WORLD_JIT + STUBS + HEADER + BLOB_CODE + 0x20 };

/* A Continuation and chunks: where they are, and their members. */
#define CONTINUATION (WORLD_STACK + 0x20000)
#define CHUNK(n) (WORLD_STACK + 0x30000 + (uint64_t)(n)*0x1000)
#define RETURN_PC (WORLD_STACK + 0x40000)
#define INTERPRETER (WORLD_JIT + 0x800)
enum {
	TAIL = 16,
	CLASS = 8,
	CHUNK_CLASS = 77,
	CHUNK_SP = 16,
	PARENT = 24,
	CHUNK_STACK = 64,
	SHIFT = 3
};

static uint8_t memory[2 * MAP];

/* How objects refer to others. */
static uint64_t reference(uint64_t object)
{
	return object == 0 ? 0 : (object - WORLD_STACK) >> SHIFT | 1ULL << 63;
}

/* Where a chunk's innermost frame begins. Empty: it has none. */
static uint64_t put_chunk(int n, uint64_t parent, bool is_empty)
{
	uint32_t begin = 8, end = is_empty ? begin : 100;

	world_poke(w, CHUNK(n) + CLASS, CHUNK_CLASS);
	world_poke(w, CHUNK(n) + CHUNK_SP, begin | (uint64_t)end << 32);
	world_poke(w, CHUNK(n) + PARENT, reference(parent));
	return CHUNK(n) + CHUNK_STACK + 8 * begin;
}

static void put_blob(uint64_t at, uint32_t frame_words)
{
	const uint32_t head[] = { frame_words, -1U, BLOB_CODE, 7 };

	memset(memory + at + HEADER, 0x90, 4 * SEGMENT - HEADER);
	memcpy(memory + at + HEADER, head, sizeof(head));
	for (uint8_t i = 0; i < 4; i++)
		memory[MAP + at / SEGMENT + i] = i;
}

static void begin_thaw(void)
{
	struct dp_snapshot *snapshot;
	struct dp_mapping *m;
	struct dp_hotspot *h;

	begin();
	snapshot = world_cell(w, WORLD_SPACE_CELL);
	snapshot->hotspot = HOTSPOT_CELLS - WORLD_SPACE_CELL;
	m = world_cell(w, WORLD_SPACE_CELL + sizeof(*snapshot) / DP_CELL_SIZE);
	m[1].end = m[1].start + sizeof(memory);
	h = world_cell(w, HOTSPOT_CELLS);
	*h = (struct dp_hotspot){
		.heaps = { { WORLD_JIT, WORLD_JIT + N_SEGMENTS * SEGMENT, WORLD_JIT + MAP } },
		.thaw_start = WORLD_JIT + STUBS + HEADER,
		.thaw_end = WORLD_JIT + N_SEGMENTS * SEGMENT,
		.interpreter_start = INTERPRETER,
		.interpreter_end = INTERPRETER + 0x100,
		.sender_sp = -8,
		.frame_method = -24,
		.return_pc = RETURN_PC,
		.oop_base = WORLD_STACK,
		.oop_shift = SHIFT,
		.oop_class = CLASS,
		.chunk_class = CHUNK_CLASS,
		.chunk_stack = CHUNK_STACK,
		.chunk_sp = CHUNK_SP,
		.chunk_end = CHUNK_SP + 4,
		.chunk_parent = PARENT,
		.tail = TAIL,
		.segment_bits = 6,
		.header_size = HEADER,
		.frame_complete = 4,
		.complete_size = 4,
		.code_begin = 8,
		.code_is_offset = 1,
		.method_id = 12,
	};
	w->jit = memory;
	w->jit_size = sizeof(memory);
	memset(memory, 0, sizeof(memory));
	put_blob(METHOD, FRAME / 8);
	put_blob(STUBS, 0);
}

TestSuite(thaw, .init = begin_thaw, .fini = end);

static const uint64_t method = WORLD_JIT + HEADER + BLOB_CODE + 8;

/* What is above on the stack is the carrier's. */
static void expect_end(uint64_t pc, uint32_t n_frames)
{
	world_poke(w, sp + FRAME, code(0));
	expect_outcome(world_walk(w, pc, sp, sp + FRAME - 8), DP_FRAMES_IN_HEAP, n_frames);
}

Test(thaw, a_method_that_was_called_is_left)
{
	world_poke(w, sp + FRAME - 8, code(0));
	expect_outcome(world_walk(w, method, sp, 0), DP_COMPLETE, 2);
}

Test(thaw, ends_at_the_barrier)
{
	world_poke(w, sp + FRAME - 8, BARRIER);
	expect_end(method, 2);
	cr_assert_eq(DP_FRAME_ADDRESS(w->walk.out.frames[1]), BARRIER);
}

Test(thaw, ends_in_the_stubs_and_in_what_they_call)
{
	expect_end(BARRIER, 1);
	memory[BARRIER - WORLD_JIT - 5] = 0xe8;
	world_poke(w, sp + FRAME - 8, BARRIER);
	expect_end(code(1), 2);
}

/*
 * Of a method that returns to the barrier, behind which a chunk follows. The frame by which a virtual thread is
 * entered is one of the method, too.
 */
enum { ENTRY = 16 };

static void put_stack(void)
{
	uint64_t entry = sp + FRAME;

	world_poke(w, sp + FRAME - 8, BARRIER);
	world_poke(w, entry + 8, CONTINUATION);
	world_poke(w, entry + FRAME - 8, code(0));
	world_poke(w, CONTINUATION + TAIL, reference(CHUNK(0)));
	world_poke(w, RETURN_PC, method + ENTRY);
}

/* A method's frame in a chunk, which returns there. Returns where its caller's begins. */
static uint64_t put_frame(uint64_t at, uint64_t pc, uint64_t caller)
{
	world_poke(w, at - 8, pc);
	world_poke(w, at + FRAME - 8, caller);
	return at + FRAME;
}

static void expect_whole(uint32_t n_frames)
{
	expect_outcome(world_walk(w, method, sp, 0), DP_COMPLETE, n_frames);
	cr_assert_eq(DP_FRAME_ADDRESS(w->walk.out.frames[n_frames - 2]), method + ENTRY);
	cr_assert_eq(w->walk.at.sp, sp + 2 * FRAME);
}

Test(thaw, goes_on_in_the_heap_and_then_on_the_stack)
{
	put_stack();
	put_frame(put_frame(put_chunk(0, 0, false), method + 1, method + 2), method + 2,
		  method + ENTRY);
	expect_whole(6);
	cr_assert_eq(DP_FRAME_ADDRESS(w->walk.out.frames[2]), method + 1);
	cr_assert_eq(DP_FRAME_ADDRESS(w->walk.out.frames[3]), method + 2);
	/* Other JVMs have whole addresses, or the Continuation in another place. */
	world_poke(w, CONTINUATION + TAIL, CHUNK(0));
	expect_whole(6);
	world_poke(w, sp + FRAME + 8, 0);
	world_poke(w, sp + FRAME + 16, CONTINUATION);
	expect_whole(6);
}

Test(thaw, goes_from_a_chunk_to_those_behind_it)
{
	put_stack();
	put_chunk(0, CHUNK(1), true);
	put_frame(put_chunk(1, CHUNK(2), false), method + 1, BARRIER);
	put_frame(put_chunk(2, 0, false), method + 2, method + ENTRY);
	expect_whole(6);
	cr_assert_eq(DP_FRAME_ADDRESS(w->walk.out.frames[3]), method + 2);
	/* It was empty once, or is of another JVM. */
	put_frame(CHUNK(1) + CHUNK_STACK + 64, method + 1, 0);
	expect_whole(6);
	put_frame(put_chunk(2, 0, false), method + 2, 0);
	expect_whole(6);
	put_chunk(2, CHUNK(2), true); /* a cycle */
	expect_end(method, 3);
}

Test(thaw, addresses_in_frames_of_the_interpreter_are_relative)
{
	uint64_t at, fp, outer;

	put_stack();
	at = put_chunk(0, 0, false);
	fp = at + 40;
	outer = fp + 48;
	world_poke(w, at - 8, INTERPRETER + 8);
	world_poke(w, at - 16, (fp - (at - 16)) / 8);
	world_poke(w, fp - 8, 4); /* the caller's stack pointer */
	world_poke(w, fp + 8, INTERPRETER + 16);
	world_poke(w, fp, (outer - fp) / 8);
	world_poke(w, outer - 8, 2);
	world_poke(w, outer + 8, method + ENTRY);
	expect_whole(6);
	cr_assert_eq(DP_FRAME_ADDRESS(w->walk.out.frames[3]), INTERPRETER + 16);
}

Test(thaw, reads_nothing_that_is_no_chunk)
{
	struct dp_hotspot *h = world_cell(w, HOTSPOT_CELLS);

	put_stack();
	put_frame(put_chunk(0, 0, false), method + 1, method + ENTRY);
	expect_whole(5);
	h->return_pc = 0;
	expect_end(method, 2);
	h->return_pc = RETURN_PC;
	h->chunk_class++;
	expect_end(method, 2);
	h->chunk_class--;
	world_poke(w, sp + FRAME + 8, 0x123456);
	expect_end(method, 2);
}
