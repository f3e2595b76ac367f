// SPDX-License-Identifier: Apache-2.0
/* What is read for the frames of runtimes, and what that costs. */
#include "bpf/tests/python_world.h"

TestSuite(runtime_frame, .init = begin_runtime, .fini = end);

/* Puts n frames of a recursion from `at` on, callers first. Returns the innermost one. */
static uint64_t put_recursion(uint64_t at, unsigned int n, uint64_t object)
{
	uint64_t caller = 0;

	place = at;
	for (unsigned int i = 0; i < n; i++)
		caller = put_frame(caller, object, 0x100 + i, i == 0);
	return caller;
}

/* Of the interpreter, the thread's id and its frame. */
#define READS_OF_THREAD 5

Test(runtime_frame, a_read_serves_several_frames_and_their_code)
{
	uint64_t object = put_code(1, 10), thread = put_thread(put_interpreter(0), 0, SELF, 0);
	const unsigned int n = 20, at_once = (WALK_RUNTIME_READ - ENTRY - 1) / 64 + 1;

	world_poke(w, thread + FRAME, put_recursion(WORLD_STACK + 0x4040, n, object));
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, n);
	for (unsigned int i = 0; i < n; i++)
		expect_frame(i, object, (0x100 + n - 1 - i) | (i == n - 1 ? DP_RUNTIME_ENTRY : 0),
			     python_tag(1, 10));
	cr_assert(w->n_reads == READS_OF_THREAD + (int)((n + at_once - 1) / at_once) + 3,
		  "%d reads", w->n_reads);
}

/* It may be another one at the same address. */
Test(runtime_frame, code_is_read_anew_for_each_sample)
{
	uint64_t object = put_code(1, 10);

	put_thread(put_interpreter(0), 0, SELF, put_frame(0, object, 0x100, 1));
	cr_assert(runtime_read(&w->walk));
	expect_frame(0, object, 0x100 | DP_RUNTIME_ENTRY, python_tag(1, 10));
	world_poke(w, object + LINE, 11);
	cr_assert(runtime_read(&w->walk));
	expect_frame(0, object, 0x100 | DP_RUNTIME_ENTRY, python_tag(1, 11));
}

/* As they are in each version. */
Test(runtime_frame, a_line_and_a_name_behind_it_are_read_at_once)
{
	uint64_t object = make_place(), name = make_place();

	layout()->python.line = 12;
	layout()->python.name = 40;
	world_poke(w, object + 12, 10);
	world_poke(w, object + 40, name);
	world_poke(w, name + HASH, 1);
	put_thread(put_interpreter(0), 0, SELF, put_frame(0, object, 0x100, 1));
	cr_assert(runtime_read(&w->walk));
	expect_frame(0, object, 0x100 | DP_RUNTIME_ENTRY, python_tag(1, 10));
	cr_assert_eq(w->n_reads, READS_OF_THREAD + 3);
}

/* Below the first page and above the last one there is nothing. */
Test(runtime_frame, no_other_page_than_the_frames_is_read)
{
	uint64_t object = put_code(1, 10), thread = put_thread(put_interpreter(0), 0, SELF, 0);

	world_poke(w, thread + FRAME, put_recursion(WORLD_STACK, 2, object));
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 2);
	/* But a frame may be on two. */
	world_poke(w, thread + FRAME, put_recursion(WORLD_STACK + 0x3ff8, 1, object));
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_COMPLETE, 1);
	expect_frame(0, object, 0x100 | DP_RUNTIME_ENTRY, python_tag(1, 10));
}

/*
 * Each frame takes seven reads: its own, as none is near the one before and below it, four of its code, as
 * both objects have the same place among the remembered ones, and two of a copy of its instructions.
 */
static void put_costly_frames(void)
{
	uint64_t near = place, object = put_code(1, 0), frame = put_frame(0, object, 0x100, 0);
	uint64_t other;

	place = near + (1 << 14);
	object = put_code(1, 0);
	other = put_frame(frame, object, 0x100, 0);
	world_poke(w, frame + PREVIOUS, other);
	put_thread(put_interpreter(0), 0, SELF, frame);
	for (int i = 0; i < 2; i++, object = near) {
		world_poke(w, object + FILENAME, object);
		world_poke(w, object + COPIES, object);
	}
	layout()->python.entry_kind = DP_PYTHON_ENTRY_LINK;
	layout()->python.copies = COPIES;
	layout()->python.copy = COPY;
}

#define COST_OF_FRAME (WALK_COST_FRAME + 7 * WALK_COST_PEEK)

static void expect_cost(uint32_t limit, unsigned int n)
{
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_MANY_FRAMES, n);
	cr_assert(w->walk.at.cost > limit && w->walk.at.cost <= limit + COST_OF_FRAME, "cost %u",
		  w->walk.at.cost);
}

/* Five reads lead to the frames. */
Test(runtime_frame, frames_are_limited_by_their_cost)
{
	const unsigned int of_frame = COST_OF_FRAME, first = 5 * WALK_COST_PEEK;

	put_costly_frames();
	expect_cost(RUNTIME_MAX_COST, (RUNTIME_MAX_COST - first) / of_frame + 1);
	/* Of a process that is over its share. */
	w->walk.at.cost = WALK_MAX_COST - 1000;
	w->walk.runtime.is_short = 1;
	expect_cost(WALK_MAX_COST, (1000 - first) / of_frame + 1);
	/* After a walk that has taken all of it. */
	w->walk.at.cost = WALK_MAX_COST + 1;
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_MANY_THREADS, 0);
}

Test(runtime_frame, threads_are_limited_by_their_cost)
{
	uint64_t thread = put_thread(put_interpreter(0), 0, SELF + 1, 0);

	world_poke(w, thread + NEXT, thread);
	w->walk.at.cost = RUNTIME_MAX_COST - 100;
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_MANY_THREADS, 0);
	cr_assert(w->n_reads < 100 / WALK_COST_PEEK + 3);
}

/* To try to read what is not there takes longest. */
Test(runtime_frame, unreadable_memory_costs_more)
{
	put_thread(put_interpreter(0), 0, SELF, 8);
	cr_assert(runtime_read(&w->walk));
	expect(DP_RUNTIME_READ_FAULT, 0);
	cr_assert(w->walk.at.cost ==
			  WALK_COST_FRAME + (uint32_t)w->n_reads * WALK_COST_PEEK + WALK_COST_FAULT,
		  "cost %u", w->walk.at.cost);
}
