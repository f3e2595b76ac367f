// SPDX-License-Identifier: Apache-2.0
/* Walks over addresses that were met before, which are not looked up again. */
#include "world_fixture.h"

TestSuite(stride, .init = begin, .fini = end);

/*
 * A stack of 40 frames of functions 2, which save rbp, and 1, which have it as frame
 * pointer, by turns. Returns the last one's CFA.
 */
static uint64_t deep_stack(uint64_t from)
{
	world_rule(w, 2, 48)->rbp = (struct dp_where){ .kind = DP_WHERE_CFA, .offset = -40 };
	world_rule(w, 1, 16)->cfa_reg = DP_RBP;
	for (int i = 0; i < 40; i++) {
		int32_t size = i % 2 ? 32 : 48;

		if (size == 48)
			world_poke(w, from + 8, from + 48 + 16);
		from += (uint64_t)size;
		world_poke(w, from - 8, i == 39 ? code(0) : i % 2 ? code(2) : code(1));
	}
	return from;
}

/* What is remembered of a frame's address makes the next walk shorter, but finds the same. */
Test(stride, finds_the_same_with_all_addresses_known)
{
	static uint64_t frames[41];

	/* Somewhere a frame's return address and saved rbp are in different pages, or windows. */
	for (uint64_t at = 0; at < 2 * DP_USER_PAGE_SIZE; at += 8) {
		uint64_t rbp, first;

		first = deep_stack(sp + at);
		expect_outcome(world_walk(w, code(2), sp + at, 1), DP_COMPLETE, 41);
		memcpy(frames, w->walk.frames, sizeof(frames));
		rbp = w->walk.rbp;
		expect_outcome(world_walk(w, code(2), sp + at, 1), DP_COMPLETE, 41);
		cr_assert(memcmp(frames, w->walk.frames, sizeof(frames)) == 0);
		cr_assert(w->walk.rbp == rbp && w->walk.sp == first && rbp != 1);
	}
}

Test(stride, names_the_same_fault_with_all_addresses_known)
{
	uint64_t page = (sp & ~(uint64_t)(DP_USER_PAGE_SIZE - 1)) + DP_USER_PAGE_SIZE;

	deep_stack(page - 800);
	expect_outcome(world_walk(w, code(2), page - 800, 0), DP_COMPLETE, 41);
	world_fault(w, page);
	/* 800 bytes are ten frames of each; the one behind them lies at the page's start. */
	for (int i = 0; i < 2; i++) {
		expect_outcome(world_walk(w, code(2), page - 800, 0), DP_READ_FAULT, 21);
		cr_assert(w->walk.sample.fault_address == page + 40, "%llx",
			  w->walk.sample.fault_address);
	}
}

/* A cache that outlived its mappings would go on with the old rule. */
Test(stride, uses_no_rule_of_older_mappings)
{
	struct dp_mapping *m = world_cell(w, WORLD_SPACE_CELL + DP_CELLS(struct dp_space));

	deep_stack(sp);
	for (int i = 0; i < 2; i++)
		expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 41);
	world_rule(w, 1, 16);
	world_poke(w, sp + 48 + 8, code(0));
	/* The mapping's cell is the same; its mark is not. */
	m->mark = ++w->mark;
	world_renumber(w, 8);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 3);
}

/* Nor is a binary trusted, whatever is known of it, before this walk has seen that it is there. */
Test(stride, compares_marks_with_all_addresses_known)
{
	deep_stack(sp);
	for (int i = 0; i < 2; i++)
		expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 41);
	w->mark++;
	expect_outcome(world_walk(w, code(2), sp, 0), DP_CODE_CHANGED, 0);
	w->mark--;
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 41);
}

/* An address that one walk has seen to be behind a call does not vouch for its neighbour. */
Test(stride, keeps_many_addresses_apart)
{
	for (int n = 3; n < 60; n++)
		world_rule(w, n, n % 2 ? 16 : 32);
	for (int round = 0; round < 3; round++) {
		uint64_t at = sp;

		for (int n = 59; n >= 3; n--) {
			at += n % 2 ? 16 : 32;
			world_poke(w, at - 8,
				   n == 3 ? code(0) :
				   n % 3  ? code(n - 1) :
					    library(n - 1));
		}
		expect_outcome(world_walk(w, code(59), sp, 0), DP_COMPLETE, 58);
		cr_assert(w->walk.sp == at);
	}
}
