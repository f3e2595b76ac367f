// SPDX-License-Identifier: Apache-2.0
/* Counting what a walk touches: distinct lines and pages, for each kind of access. */
#include "bench/touched.h"

#include "bpf/tests/world_fixture.h"

TestSuite(touched, .init = begin, .fini = end);

enum { FIRST, SECOND, N_RANGES };

static const struct touched_region ranges[N_RANGES] = {
	[FIRST] = { "first", 0x10000, 0x2020 },
	[SECOND] = { "second", 0x12020, 0x1000 },
};

Test(touched, each_line_and_page_counts_once)
{
	struct touched_count counts[N_RANGES];

	touched_begin(ranges, N_RANGES);
	touched_note(0x10000, 8);
	touched_note(0x10038, 8);
	touched_note(0x10000, 1);
	touched_note(0x1103c, 8); /* two lines */
	touched_note(0x12000, 8);
	touched_note(0x12020, 8); /* a line that was touched as the first region's */
	touched_note(0x12040, 128);
	touched_note(0xfff8, 8); /* outside */
	touched_end(counts);
	cr_assert(counts[FIRST].lines == 4 && counts[FIRST].pages == 3);
	cr_assert(counts[SECOND].lines == 2 && counts[SECOND].pages == 0);

	touched_begin(ranges, N_RANGES);
	touched_note(0x10000, 8);
	touched_end(counts);
	cr_assert(counts[FIRST].lines == 1 && counts[SECOND].lines == 0);
}

enum { POSITION, STACK, TRAIL, CACHE, RULES, TABLES, N_PARTS };

/* What a walk of n frames of function 2, and the root, touches. */
static void touch(uint32_t n, struct touched_count *ret)
{
	const struct touched_region parts[N_PARTS] = {
		[POSITION] = { "", (uintptr_t)&w->walk.at, sizeof(w->walk.at) },
		[STACK] = { "", (uintptr_t)&w->walk.stack, sizeof(w->walk.stack) },
		[TRAIL] = { "", (uintptr_t)w->walk.trail, sizeof(w->walk.trail) },
		[CACHE] = { "", (uintptr_t)w->walk.cache, sizeof(w->walk.cache) },
		[RULES] = { "", (uintptr_t)w->walk.rules, sizeof(w->walk.rules) },
		[TABLES] = { "", (uintptr_t)w->segment, DP_SEGMENT_SIZE },
	};

	for (uint32_t i = 0; i < n; i++)
		world_poke(w, sp + 16 * (uint64_t)(i + 1) - 8, i + 1 < n ? code(2) : code(0));
	w->walk.in.regs.reg[DP_REG_PC] = n > 0 ? code(2) : code(0);
	w->walk.in.regs.reg[DP_REG_SP] = sp;
	touched_begin(parts, N_PARTS);
	touched_walk(&w->walk);
	touched_end(ret);
	expect_outcome(w->walk.out.sample.outcome, DP_COMPLETE, n + 1);
}

/* A frame's trail has 32 bytes or more, so so many frames have another line. */
Test(touched, a_walk)
{
	struct touched_count one[N_PARTS], first[N_PARTS], again[N_PARTS];

	touch(0, one);
	for (int i = 0; i < N_PARTS; i++)
		cr_assert(one[i].lines > 0 && (one[i].pages > 0 || i == POSITION || i == STACK),
			  "part %d", i);
	walk_forget(&w->walk);
	touch(DP_MAX_FRAMES / 4, first);
	cr_assert(first[TRAIL].lines >= one[TRAIL].lines + DP_MAX_FRAMES / 8);
	cr_assert(first[TABLES].lines >= one[TABLES].lines);
	touch(DP_MAX_FRAMES / 4, again);
	cr_assert(again[TABLES].lines < first[TABLES].lines, "the rules are known");
	cr_assert(again[CACHE].lines <= first[CACHE].lines);
}

/* Compilers clear it by a function that they know. */
Test(touched, what_is_cleared)
{
	struct touched_region cookies = { "", (uintptr_t)w->walk.mapped.cookies,
					  sizeof(w->walk.mapped.cookies) };
	struct touched_count count;

	w->walk.in.regs.reg[DP_REG_PC] = code(0);
	w->walk.in.regs.reg[DP_REG_SP] = sp;
	w->walk.in.snapshot++;
	touched_begin(&cookies, 1);
	touched_walk(&w->walk);
	touched_end(&count);
	expect_outcome(w->walk.out.sample.outcome, DP_TABLES_CHANGED, 1);
	cr_assert(count.lines >= sizeof(w->walk.mapped.cookies) / TOUCHED_LINE_SIZE);
}

/* The walker is the same with and without the calls. */
Test(touched, the_result_is_the_same)
{
	struct touched_count counts[N_PARTS];
	static __u64 frames[DP_MAX_FRAMES];

	touch(100, counts);
	walk_spell_out(&w->walk);
	memcpy(frames, w->walk.out.frames, sizeof(frames));
	walk_forget(&w->walk);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 101);
	cr_assert(memcmp(frames, w->walk.out.frames, 101 * sizeof(*frames)) == 0);
}
