// SPDX-License-Identifier: Apache-2.0
/* Walks over cached addresses, which are not looked up again. */
#include "bpf/tests/world_fixture.h"

TestSuite(fast_path, .init = begin, .fini = end);

/*
 * A stack of 40 frames that alternate between function 2, which saves fp, and function 1, which
 * uses it as frame pointer. Returns the last one's CFA.
 */
static uint64_t deep_stack(uint64_t from)
{
	world_rule(w, 2, 48)->fp = (struct dp_where){ .kind = DP_WHERE_CFA, .offset = -40 };
	world_rule(w, 1, 16)->cfa_reg = DP_REG_FP;
	for (int i = 0; i < 40; i++) {
		int32_t size = i % 2 ? 32 : 48;

		if (size == 48)
			world_poke(w, from + 8, from + 48 + 16);
		from += (uint64_t)size;
		world_poke(w, from - 8, i == 39 ? code(0) : i % 2 ? code(2) : code(1));
	}
	return from;
}

/* The cache makes the next walk shorter, with the same result. */
Test(fast_path, finds_the_same_with_all_addresses_known)
{
	static uint64_t frames[41];

	/*
	 * In some of these a frame's return address and saved fp are in different pages, or
	 * windows.
	 */
	for (uint64_t at = 0; at < 2 * DP_USER_PAGE_SIZE; at += 8) {
		uint64_t fp, first;

		first = deep_stack(sp + at);
		expect_outcome(world_walk(w, code(2), sp + at, 1), DP_COMPLETE, 41);
		memcpy(frames, w->walk.out.frames, sizeof(frames));
		fp = w->walk.at.fp;
		expect_outcome(world_walk(w, code(2), sp + at, 1), DP_COMPLETE, 41);
		cr_assert(memcmp(frames, w->walk.out.frames, sizeof(frames)) == 0);
		cr_assert(w->walk.at.fp == fp && w->walk.at.sp == first && fp != 1);
	}
}

Test(fast_path, names_the_same_fault_with_all_addresses_known)
{
	uint64_t page = (sp & ~(uint64_t)(DP_USER_PAGE_SIZE - 1)) + DP_USER_PAGE_SIZE;

	deep_stack(page - 800);
	expect_outcome(world_walk(w, code(2), page - 800, 0), DP_COMPLETE, 41);
	world_fault(w, page);
	/* 800 bytes are ten frames of each; the one behind them lies at the page's start. */
	for (int i = 0; i < 2; i++) {
		expect_outcome(world_walk(w, code(2), page - 800, 0), DP_READ_FAULT, 21);
		cr_assert(w->walk.out.sample.fault_address == page + 40, "%llx",
			  w->walk.out.sample.fault_address);
	}
}

/* Processes with the same mappings have the same rules. */
Test(fast_path, knows_all_addresses_of_another_process_with_the_same_mappings)
{
	uint32_t n_looked_up;

	deep_stack(sp);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 41);
	n_looked_up = w->walk.mapped.n_looked_up;
	world_fork(w, 8);
	/* Another stack, so that this one is not followed. */
	deep_stack(sp + 0x1000);
	expect_outcome(world_walk(w, code(2), sp + 0x1000, 0), DP_COMPLETE, 41);
	cr_assert_eq(w->walk.mapped.n_looked_up, n_looked_up);
}

/* The snapshot's memory is reused as soon as a walk reads from the process. */
static int read_and_reuse(struct port_user *port, void *dst, uint32_t size, uint64_t address)
{
	struct dp_snapshot *snapshot = world_cell(w, w->walk.in.snapshot_cell);
	struct dp_mapping *m = (struct dp_mapping *)(snapshot + 1);

	snapshot->id = 9;
	for (int i = 0; i < 3; i++) {
		m[i].bias -= 2 * WORLD_FUNCTION_SIZE;
		m[i].cookie++;
	}
	port->read = world_read;
	return port->read(port, dst, size, address);
}

static void walk_while_the_snapshot_is_reused(uint64_t pc)
{
	world_fork(w, 8);
	w->port.read = read_and_reuse;
	cr_assert_eq(world_walk(w, pc, sp, 0), DP_TABLES_CHANGED);
	/* The first process still has its snapshot. */
	w->walk.in.snapshot = 7;
	w->walk.in.snapshot_cell = WORLD_SPACE_CELL;
	for (int i = 0; i < 2; i++)
		expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 41);
}

/* What a walk reads in a freed snapshot's memory is not cached for others. */
Test(fast_path, remembers_nothing_of_a_snapshot_that_was_given_up)
{
	deep_stack(sp);
	walk_while_the_snapshot_is_reused(code(2));
	memset(w->walk.mapped.cookies, 0, sizeof(w->walk.mapped.cookies));
	walk_while_the_snapshot_is_reused(code(2));
	/* The same if only the innermost address is not cached */
	walk_while_the_snapshot_is_reused(code(2) + 1);
}

/* A cache that outlived its mappings would give the old rule. */
Test(fast_path, uses_no_rule_of_older_mappings)
{
	struct dp_mapping *m = world_cell(w, WORLD_SPACE_CELL + DP_CELLS(struct dp_snapshot));

	deep_stack(sp);
	for (int i = 0; i < 2; i++)
		expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 41);
	world_rule(w, 1, 16);
	world_poke(w, sp + 48 + 8, code(0));
	/* The mapping's number is the same; its cookie is not. */
	m->cookie = ++w->cookie;
	world_renumber(w, 8);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 3);
}

/* A walk compares a binary's cookie even if everything is cached. */
Test(fast_path, compares_marks_with_all_addresses_known)
{
	deep_stack(sp);
	for (int i = 0; i < 2; i++)
		expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 41);
	w->cookie++;
	expect_outcome(world_walk(w, code(2), sp, 0), DP_CODE_CHANGED, 0);
	w->cookie--;
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 41);
}

/* A cached call in front of one address does not count for its neighbour. */
Test(fast_path, keeps_many_addresses_apart)
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
		cr_assert(w->walk.at.sp == at);
	}
}
