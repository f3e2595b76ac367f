// SPDX-License-Identifier: Apache-2.0
/*
 * How much of the stack a walk reads, and that it finds the frames that were laid out whatever that
 * is.
 */
#include "bpf/tests/world_fixture.h"

static uint64_t n_bytes;
static unsigned int n_reads, seed = 1;

/* Counts what is read of the stack. */
static int count_and_read(struct port_user *port, void *dst, uint32_t size, uint64_t address)
{
	if (address - WORLD_STACK < sizeof(w->stack)) {
		n_bytes += size;
		n_reads++;
	}
	return world_read(port, dst, size, address);
}

static void begin_window(void)
{
	begin();
	w->port.read = count_and_read;
}

TestSuite(window, .init = begin_window, .fini = end);

/* Lays out n frames of function 3, of a size, and the root's. Returns the root's stack pointer. */
static uint64_t lay_out(uint64_t at, int n, int32_t size)
{
	world_rule(w, 3, size);
	for (int i = 0; i < n; i++) {
		at += (uint64_t)size;
		world_poke(w, at - 8, i == n - 1 ? code(0) : code(3));
	}
	return at;
}

static void walk(uint64_t from, uint32_t n)
{
	n_bytes = n_reads = 0;
	expect_outcome(world_walk(w, code(3), from, 0), DP_COMPLETE, n + 1);
}

Test(window, ends_where_the_walk_before_ended)
{
	const uint64_t from = WORLD_STACK + DP_USER_PAGE_SIZE;

	lay_out(from, 9, 16);
	walk(from, 9);
	cr_assert(n_reads == 1 && n_bytes == WALK_WINDOW);
	walk(from, 9);
	cr_assert(n_reads == 1 && n_bytes == WALK_WINDOW_LEAST, "%lu bytes", n_bytes);
	/* A deeper stack is read further. */
	lay_out(from, 40, 16);
	walk(from, 40);
	cr_assert(n_reads == 2 && n_bytes == WALK_WINDOW_LEAST + WALK_WINDOW, "%u, %lu", n_reads,
		  n_bytes);
}

Test(window, is_small_behind_large_frames)
{
	const uint64_t from = WORLD_STACK + DP_USER_PAGE_SIZE;

	lay_out(from, 50, 2 * DP_USER_PAGE_SIZE + 1024);
	for (int i = 0; i < 2; i++) {
		walk(from, 50);
		cr_assert(n_reads <= 51);
		cr_assert_leq(n_bytes, WALK_WINDOW + 50 * WALK_WINDOW_APART, "%lu", n_bytes);
	}
}

Test(window, is_large_along_small_frames)
{
	const uint64_t from = WORLD_STACK + DP_USER_PAGE_SIZE;
	uint64_t top = lay_out(from, 500, 32);

	for (int i = 0; i < 2; i++) {
		walk(from, 500);
		cr_assert_leq(n_reads, (top - from) / WALK_WINDOW + 1, "%u reads", n_reads);
	}
	cr_assert_leq(n_bytes, top - from + WALK_WINDOW_LEAST, "%lu bytes", n_bytes);
	/* Also behind a large one: two small reads before. */
	lay_out(from + 5 * DP_USER_PAGE_SIZE, 500, 32);
	world_rule(w, 4, 5 * DP_USER_PAGE_SIZE);
	world_poke(w, from + 5 * DP_USER_PAGE_SIZE - 8, code(3));
	n_reads = 0;
	expect_outcome(world_walk(w, code(4), from, 0), DP_COMPLETE, 502);
	cr_assert_leq(n_reads, 1 + 2 + (top - from) / WALK_WINDOW + 2, "%u reads", n_reads);
}

static uint64_t pick(uint64_t n)
{
	return (uint64_t)rand_r(&seed) % n;
}

/* Function n > 0 has a frame of so many bytes. Odd ones save fp, at different places. */
static const int32_t sizes[] = { 0, 16, 32, 64, 128, 336, 592, 1104, 2112, 3000, 5008, 12304 };
#define N_SIZES ((int)(sizeof(sizes) / sizeof(*sizes)))

static void set_rules(void)
{
	for (int n = 1; n < N_SIZES; n++) {
		struct dp_rule *rule = world_rule(w, n, sizes[n]);

		if (n % 2)
			rule->fp = (struct dp_where){ .kind = DP_WHERE_CFA,
						      .offset = n == 1 ? -16 : -64 };
	}
}

/* Lays out frames that end at `top`, the outermost last; frames[] has their functions. */
static uint64_t lay_out_some(uint64_t top, const int *frames, int n)
{
	uint64_t at = top;

	for (int i = n - 1; i >= 0; i--) {
		world_poke(w, at - 8, code(i == n - 1 ? 0 : frames[i + 1]));
		if (frames[i] % 2)
			world_poke(w, at - (frames[i] == 1 ? 16 : 64), 0x1000 + (uint64_t)i);
		at -= (uint64_t)sizes[frames[i]];
	}
	return at;
}

/* The root's fp is what the outermost frame that saves it has saved. */
static void expect_fp(const int *frames, int n)
{
	while (n > 0 && frames[n - 1] % 2 == 0)
		n--;
	cr_assert_eq(w->walk.at.fp, n > 0 ? 0x1000 + (uint64_t)n - 1 : 7);
}

/* The walks before end a little below or above, in the same page, or elsewhere. */
Test(window, makes_no_difference)
{
	const uint64_t end = WORLD_STACK + 1000 * DP_USER_PAGE_SIZE;
	int frames[60];

	set_rules();
	for (int round = 0; round < 20000; round++) {
		int n = 1 + (int)pick(60), small = (int)pick(N_SIZES - 1) + 1;
		uint64_t top = end + 8 * pick(pick(2) ? 64 : 4096), from;

		for (int i = 0; i < n; i++)
			frames[i] = 1 + (int)pick((uint64_t)(pick(4) ? small : N_SIZES - 1));
		from = lay_out_some(top, frames, n);
		for (int again = 0; again < 2; again++) {
			expect_outcome(world_walk(w, code(frames[0]), from, 7), DP_COMPLETE,
				       (uint32_t)n + 1);
			for (int i = 0; i < n; i++)
				cr_assert_eq(DP_FRAME_ADDRESS(w->walk.out.frames[i]),
					     code(frames[i]));
			cr_assert_eq(w->walk.at.sp, top);
			expect_fp(frames, n);
		}
	}
}
