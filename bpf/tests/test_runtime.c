// SPDX-License-Identifier: Apache-2.0
#include "bpf/tests/python_world.h"

TestSuite(runtime, .init = begin_runtime, .fini = end);

Test(runtime, reads_the_frames_of_the_thread)
{
	uint64_t main_code = put_code(1, 10), leaf_code = put_code(2, 20);
	uint64_t first = put_frame(0, main_code, 0x100, 1);
	uint64_t leaf = put_frame(first, leaf_code, 0x200, 0);
	uint64_t interpreter = put_interpreter(0);
	uint64_t thread = put_thread(interpreter, 0, SELF, leaf);

	put_thread(interpreter, thread, SELF + 1, first);
	put_interpreter(interpreter); /* without threads */
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 2);
	expect_frame(0, leaf_code, 0x200, python_tag(2, 20));
	expect_frame(1, main_code, 0x100 | DP_RUNTIME_ENTRY, python_tag(1, 10));
	cr_assert_neq(python_tag(2, 20), python_tag(2, 21));
}

Test(runtime, has_other_forms_of_entries)
{
	uint64_t object = put_code(1, 10);
	uint64_t first = put_frame(put_frame(0, 0, 0, LINK), object, 0x100, 0);
	uint64_t thread =
		put_thread(put_interpreter(0), 0, SELF, put_frame(first, object, 0x1ffffffff, 0));

	layout()->python.entry_kind = DP_PYTHON_ENTRY_LINK;
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 2);
	expect_frame(0, object, 0x1ffffffff, python_tag(1, 10));
	expect_frame(1, object, 0x100 | DP_RUNTIME_ENTRY, python_tag(1, 10));
	/* A loop that has just begun. */
	world_poke(w, thread + FRAME, put_frame(first, 0, 0, LINK));
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 1);
	/* Each has a loop of its own, and a position of four bytes. */
	layout()->python.entry_kind = DP_PYTHON_ENTRY_EACH;
	layout()->python.position_size = 4;
	first = put_frame(0, object, 0x1ffffffff, 0);
	world_poke(w, thread + FRAME, put_frame(first, object, 0x100, 0));
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 2);
	expect_frame(0, object, 0x100 | DP_RUNTIME_ENTRY, python_tag(1, 10));
	expect_frame(1, object, 0xffffffff | DP_RUNTIME_ENTRY, python_tag(1, 10));
}

Test(runtime, references_to_code_may_have_flags)
{
	uint64_t object = put_code(1, 10);

	put_thread(put_interpreter(0), 0, SELF, put_frame(0, object | 3, 0x100, 1));
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 1);
	expect_frame(0, object, 0x100 | DP_RUNTIME_ENTRY, python_tag(1, 10));
}

/* An interpreter's own, and a thread's own behind those. */
Test(runtime, several_kinds_of_frames_are_none)
{
	uint64_t object = put_code(1, 10), base = put_frame(0, 0, 0, LINK + 1);
	uint64_t first = put_frame(put_frame(base, 0, 0, LINK), object, 0x100, LINK - 1);
	uint64_t thread = put_thread(put_interpreter(0), 0, SELF, first);

	layout()->python.entry_kind = DP_PYTHON_ENTRY_LINK;
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 1);
	expect_frame(0, object, 0x100 | DP_RUNTIME_ENTRY, python_tag(1, 10));
	world_poke(w, thread + FRAME, base);
	cr_assert(!runtime_read(&w->walk));
}

Test(runtime, the_interpreters_own_code_is_in_no_line)
{
	uint64_t object = put_code(1, 10), own = put_code(2, 0);
	uint64_t first = put_frame(put_frame(0, 0, 0, LINK), object, 0x100, 0);
	uint64_t name = own + 64; /* see put_code() */

	put_thread(put_interpreter(0), 0, SELF,
		   put_frame(put_frame(first, own, 0x200, 0), object, 0x300, 0));
	layout()->python.entry_kind = DP_PYTHON_ENTRY_LINK;
	/* So is that of others, whose files have other names. */
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_frame(1, own, 0x200, python_tag(2, 0));
	world_poke(w, own + FILENAME, name);
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 2);
	expect_frame(0, object, 0x300, python_tag(1, 10));
	expect_frame(1, object, 0x100 | DP_RUNTIME_ENTRY, python_tag(1, 10));
	/* In a line, they may be the same. */
	world_poke(w, own + LINE, 1);
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 3);
	world_poke(w, own + LINE, 0);
	/* Earlier versions have none, but count each frame. */
	layout()->python.entry_kind = DP_PYTHON_ENTRY_EACH;
	world_poke(w, first + PREVIOUS, 0);
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 3);
}

Test(runtime, a_thread_may_execute_a_copy)
{
	uint64_t object = put_code(1, 10), copies = make_place();
	uint64_t frame = put_frame(0, object, 0x5024, 1);

	layout()->python.frame_size = COPY + 8;
	layout()->python.copy = COPY;
	layout()->python.copies = COPIES;
	put_thread(put_interpreter(0), 0, SELF, frame);
	world_poke(w, object + COPIES, copies);
	world_poke(w, copies, 2);
	world_poke(w, copies + 8, object + 48);
	world_poke(w, copies + 16, 0x5000);
	world_poke(w, frame + COPY, 1 | 7ULL << 32);
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 1);
	expect_frame(0, object, (object + 0x24) | DP_RUNTIME_ENTRY, python_tag(1, 10));
	/* Its own. */
	world_poke(w, frame + COPY, 0);
	world_poke(w, frame + POSITION, object + 48 + 0x26);
	cr_assert(runtime_read(&w->walk));
	expect_frame(0, object, (object + 0x26) | DP_RUNTIME_ENTRY, python_tag(1, 10));
	/* What is forged leads nowhere. */
	world_poke(w, frame + COPY, UINT32_MAX);
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_READ_FAULT, 0);
	world_poke(w, frame + COPY, 0);
	world_poke(w, object + COPIES, 8);
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_READ_FAULT, 0);
}

Test(runtime, finds_the_frame_through_another_structure)
{
	uint64_t frame = put_frame(0, put_code(1, 10), 0x100, 1), between = make_place();

	put_thread(put_interpreter(0), 0, SELF, between);
	world_poke(w, between + 16, frame);
	layout()->python.c_frame = 16 + 1;
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 1);
}

/* Loops have structures on their stacks, with their first frames. */
Test(runtime, a_loop_that_has_just_begun_has_no_frames_yet)
{
	uint64_t object = put_code(1, 10), first = put_frame(0, object, 0x100, 1);
	uint64_t inner = put_frame(first, object, 0x200, 1), stale = put_frame(8, object, 0x300, 0);
	uint64_t root = make_place(), outer = make_place(), loop = make_place();
	uint64_t interpreter = put_interpreter(0);

	layout()->python.c_frame = 16 + 1;
	layout()->python.c_previous = 24;
	/* Before another state of the thread, as with more interpreters. */
	put_thread(interpreter, put_thread(interpreter, 0, SELF, 0), SELF, loop);
	world_poke(w, outer + 16, first);
	world_poke(w, outer + 24, root);
	world_poke(w, loop + 16, inner);
	world_poke(w, loop + 24, outer);
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 2);
	/* Nothing, something unreadable, frames that end, or that lead elsewhere. */
	world_poke(w, loop + 16, 0);
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 1);
	world_poke(w, loop + 16, stale);
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 1);
	world_poke(w, stale + PREVIOUS, 0);
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 1);
	world_poke(w, loop + 16, put_frame(inner, object, 0x300, 1));
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 1);
	expect_frame(0, object, 0x100 | DP_RUNTIME_ENTRY, python_tag(1, 10));
}

/* Frames that the walk has noted, and more of Python that are none after all. */
Test(runtime, what_is_noted_remains)
{
	uint64_t object = put_code(1, 10), first = put_frame(0, object, 0x100, 1);
	uint64_t outer = make_place(), loop = make_place();
	struct walk_runtime *r = &w->walk.runtime;

	layout()->python.c_frame = 16 + 1;
	layout()->python.c_previous = 24;
	put_thread(put_interpreter(0), 0, SELF, loop);
	world_poke(w, outer + 16, first);
	world_poke(w, loop + 16, put_frame(8, object, 0x300, 1));
	world_poke(w, loop + 24, outer);
	r->head = (struct dp_runtime){ .kind = DP_RUNTIME_HOTSPOT, .n = 2 };
	r->frames[0].code = 0x10;
	r->frames[1].code = 0x20;
	cr_assert(runtime_read_all(&w->walk));
	cr_assert_eq(r->head.n, 4);
	cr_expect_eq(r->head.kind, DP_RUNTIME_HOTSPOT | DP_RUNTIME_TWO);
	cr_expect_eq(r->frames[0].code, 0x10);
	expect_frame(1, 0x20, 0, 0);
	expect_frame(2, object, 0x100 | DP_RUNTIME_ENTRY, python_tag(1, 10));
	expect_frame(3, 2, DP_RUNTIME_PYTHON | DP_RUNTIME_COMPLETE << 8, 0);
	/* Nothing else. */
	r->head = (struct dp_runtime){ .kind = DP_RUNTIME_HOTSPOT, .n = 2 };
	world_poke(w, outer + 16, 0);
	world_poke(w, loop + 16, 0);
	cr_assert(runtime_read_all(&w->walk));
	cr_expect_eq(r->head.n, 2);
	cr_expect_eq(r->head.kind, DP_RUNTIME_HOTSPOT);
	r->mapping = 0;
	cr_assert(runtime_read_all(&w->walk));
	r->head.n = 0;
	cr_assert(!runtime_read_all(&w->walk));
}

/* Each has an outcome of its own, as if it were alone. */
Test(runtime, the_second_one_may_fail)
{
	struct walk_runtime *r = &w->walk.runtime;

	world_poke(w, RUNTIME + INTERPRETERS, 8);
	r->head = (struct dp_runtime){ .kind = DP_RUNTIME_HOTSPOT, .n = 2 };
	r->frames[1].code = 0x20;
	cr_assert(runtime_read_all(&w->walk));
	cr_assert_eq(r->head.n, 3);
	cr_expect_eq(r->head.kind, DP_RUNTIME_HOTSPOT | DP_RUNTIME_TWO);
	cr_expect_eq(r->head.outcome, DP_RUNTIME_COMPLETE);
	expect_frame(1, 0x20, 0, 0);
	expect_frame(2, 2, DP_RUNTIME_PYTHON | DP_RUNTIME_READ_FAULT << 8, 0);
	/* So may both. */
	r->head = (struct dp_runtime){ 0 };
	r->mapping = r->other = 3;
	cr_assert(runtime_read_all(&w->walk));
	cr_assert_eq(r->head.n, 1);
	cr_expect_eq(r->head.kind, DP_RUNTIME_PYTHON | DP_RUNTIME_TWO);
	cr_expect_eq(r->head.outcome, DP_RUNTIME_READ_FAULT);
	expect_frame(0, 0, DP_RUNTIME_PYTHON | DP_RUNTIME_READ_FAULT << 8, 0);
}

Test(runtime, a_thread_that_it_does_not_know)
{
	put_thread(put_interpreter(0), 0, SELF + 1, 0);
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_NO_THREAD, 0);
}

Test(runtime, a_thread_without_frames_has_nothing_to_send)
{
	put_thread(put_interpreter(0), 0, SELF, 0);
	cr_assert(!runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 0);
}

/* It is in front, has no frames, and the id of the thread that starts it. */
Test(runtime, the_state_of_a_thread_that_is_being_started_is_passed_over)
{
	uint64_t frame = put_frame(0, put_code(1, 10), 0x100, 1);
	uint64_t interpreter = put_interpreter(0), root = make_place(), loop = make_place();
	uint64_t thread = put_thread(interpreter, 0, SELF, frame);
	uint64_t started = put_thread(interpreter, thread, SELF, 0);

	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 1);
	/* Those of 3.11. */
	layout()->python.c_frame = 16 + 1;
	layout()->python.c_previous = 24;
	world_poke(w, started + FRAME, root);
	world_poke(w, thread + FRAME, loop);
	world_poke(w, loop + 16, frame);
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 1);
	/* Its own has none either. */
	world_poke(w, thread + FRAME, root);
	cr_assert(!runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 0);
	world_poke(w, thread + NEXT, started);
	cr_assert(!runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 0);
}

Test(runtime, lists_without_end_end)
{
	uint64_t interpreter = put_interpreter(0), thread = put_thread(interpreter, 0, SELF + 1, 0);
	uint64_t frame = put_frame(0, put_code(1, 10), 0x100, 0);
	int n_reads;

	world_poke(w, thread + NEXT, thread);
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_MANY_THREADS, 0);
	cr_assert(w->n_reads < 4 * DP_MAX_RUNTIME_THREADS);
	world_poke(w, thread + NEXT, 0);
	world_poke(w, interpreter + NEXT, interpreter);
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_MANY_THREADS, 0);

	world_poke(w, thread + ID, SELF);
	world_poke(w, thread + FRAME, frame);
	world_poke(w, frame + PREVIOUS, frame);
	/* So many have room in what a sample may cost. */
	w->walk.at.cost = 0;
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_MANY_FRAMES, DP_MAX_RUNTIME_FRAMES);
	w->walk.at.cost = 0;
	/* Of frames that are none. */
	layout()->python.entry_kind = DP_PYTHON_ENTRY_LINK;
	poke_byte(frame + ENTRY, LINK);
	n_reads = w->n_reads;
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_MANY_FRAMES, 0);
	cr_assert(w->n_reads - n_reads < 3 * DP_MAX_RUNTIME_FRAMES);
}

Test(runtime, unreadable_memory_ends_it)
{
	uint64_t object = put_code(1, 10), frame = put_frame(8, object, 0x100, 1);
	uint64_t interpreter = put_interpreter(0), thread = put_thread(interpreter, 0, SELF, frame);

	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_READ_FAULT, 1); /* the previous frame */
	world_poke(w, object + NAME, 8);
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_READ_FAULT, 0);
	world_poke(w, interpreter + THREADS, 8);
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_READ_FAULT, 0);
	world_poke(w, RUNTIME + INTERPRETERS, 8);
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_READ_FAULT, 0);
	world_poke(w, RUNTIME + INTERPRETERS, interpreter);
	world_poke(w, interpreter + THREADS, thread);
	layout()->python.c_frame = 1;
	world_poke(w, thread + FRAME, 8);
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_READ_FAULT, 0);
}

Test(runtime, offsets_of_a_forged_layout_are_bounded)
{
	uint64_t frame = put_frame(0, put_code(1, 10), 0x100, 1);

	put_thread(put_interpreter(0), 0, SELF, frame);
	layout()->python.frame_size = UINT32_MAX;
	layout()->python.position = DP_PYTHON_FRAME_SIZE - 1;
	layout()->python.entry = UINT32_MAX;
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 1);
}

Test(runtime, without_a_runtime_nothing_is_read)
{
	struct dp_image *image = world_cell(w, WORLD_IMAGE_CELL);

	image->runtime_kind = DP_RUNTIME_NONE;
	cr_assert(!runtime_read(&w->walk));
	image->runtime_kind = DP_N_RUNTIMES;
	cr_assert(!runtime_read(&w->walk));
	w->walk.runtime.mapping = 2; /* without an image */
	cr_assert(!runtime_read(&w->walk));
	cr_assert_eq(w->n_reads, 0);
}
