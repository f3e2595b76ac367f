// SPDX-License-Identifier: Apache-2.0
/* From an address to its mapping and its rule. */
#include "bpf/tests/world_fixture.h"

TestSuite(lookup, .init = begin, .fini = end);

/* Mapping number i, from 1. */
static struct dp_mapping *mapping(uint32_t i)
{
	return world_cell(w, dp_mapping_cell(WORLD_SPACE_CELL, i));
}

/* `last`: the mapping to try first. */
static uint32_t look_up(uint64_t pc, uint32_t last, struct dp_rule *ret)
{
	return lookup_snapshot(&w->walk, WORLD_SPACE_CELL, last, pc, ret);
}

/* Outside all mappings there is neither mapping nor rule, whatever the last mapping was. */
static void expect_none(uint64_t pc)
{
	struct dp_rule rule;

	for (uint32_t last = 0; last <= 3; last++) {
		cr_expect_eq(look_up(pc, last, &rule), 0, "%#lx, %u", pc, last);
		cr_expect(rule.cfa == DP_CFA_NONE && rule.why == DP_NO_MAPPING, "%#lx", pc);
	}
}

Test(lookup, knows_where_mappings_begin_and_end)
{
	static const uint64_t starts[] = { WORLD_CODE, WORLD_JIT, WORLD_LIBRARY };
	struct dp_rule rule;

	for (uint32_t i = 1; i <= 3; i++) {
		uint64_t start = starts[i - 1], end = start + DP_PAGE_SIZE;

		for (uint32_t last = 0; last <= 3; last++) {
			cr_expect_eq(look_up(start, last, &rule), i);
			cr_expect_eq(look_up(end - 1, last, &rule), i);
		}
		expect_none(start - 1);
		expect_none(end);
	}
	expect_none(0);
	expect_none(~0ULL);
}

/* One begins where the other ends. */
Test(lookup, tells_neighbours_apart)
{
	struct dp_rule rule;

	mapping(2)->start = mapping(1)->end;
	mapping(2)->end = mapping(3)->start;
	for (uint32_t last = 0; last <= 3; last++) {
		cr_expect_eq(look_up(mapping(1)->end - 1, last, &rule), 1);
		cr_expect_eq(look_up(mapping(1)->end, last, &rule), 2);
		cr_expect_eq(look_up(mapping(3)->start - 1, last, &rule), 2);
		cr_expect_eq(look_up(mapping(3)->start, last, &rule), 3);
	}
}

/* Each mapping is found, however many there are. */
Test(lookup, finds_each_of_many)
{
	const uint64_t size = 0x1000, distance = 0x3000;
	struct dp_snapshot *snapshot = world_cell(w, WORLD_SPACE_CELL);
	struct dp_rule rule;

	for (uint32_t n = 0; n <= 40; n++) {
		snapshot->n_mappings = n;
		for (uint32_t i = 1; i <= n; i++)
			*mapping(i) = (struct dp_mapping){ .start = i * distance,
							   .end = i * distance + size };
		for (uint32_t i = 1; i <= n; i++) {
			cr_expect_eq(look_up(i * distance, 0, &rule), i, "%u of %u", i, n);
			cr_expect_eq(look_up(i * distance + size - 1, 0, &rule), i);
			cr_expect_eq(look_up(i * distance + size, 0, &rule), 0);
		}
		cr_expect_eq(look_up((n + 1) * distance, 0, &rule), 0, "of %u", n);
	}
}

Test(lookup, says_why_there_is_no_rule)
{
	struct dp_rule rule;

	cr_assert_eq(look_up(WORLD_JIT, 0, &rule), 2);
	cr_assert(rule.cfa == DP_CFA_NONE && rule.why == DP_NO_TABLE);
	mapping(2)->image = DP_CELL_EVICTED;
	cr_assert_eq(look_up(WORLD_JIT, 0, &rule), 2);
	cr_assert(rule.cfa == DP_CFA_NONE && rule.why == DP_TABLE_EVICTED);
	cr_assert_eq(look_up(code(WORLD_FUNCTIONS - 1), 0, &rule), 1);
	cr_assert(rule.cfa == DP_CFA_NONE && rule.why == DP_NO_RULE);
	cr_assert_eq(look_up(library(2), 0, &rule), 3);
	cr_assert(rule.cfa == DP_CFA_REGISTER && rule.cfa_offset == 16);
}

/* The rows of a function: from its first byte to its last one. */
Test(lookup, knows_where_functions_begin_and_end)
{
	struct dp_rule rule;

	for (int n = 0; n < WORLD_FUNCTIONS - 1; n++)
		world_rule(w, n, 8 * (n + 1));
	for (int n = 0; n < WORLD_FUNCTIONS - 1; n++) {
		uint64_t start = WORLD_LIBRARY + (uint64_t)n * WORLD_FUNCTION_SIZE;

		look_up(start, 0, &rule);
		cr_expect_eq(rule.cfa_offset, 8 * (n + 1));
		look_up(start + WORLD_FUNCTION_SIZE - 1, 0, &rule);
		cr_expect_eq(rule.cfa_offset, 8 * (n + 1));
	}
}

/* Saved registers and programs are given as cells of the image, and then of the pool. */
Test(lookup, finds_what_is_apart)
{
	const struct dp_image *image = world_cell(w, WORLD_IMAGE_CELL);
	struct dp_rule *rule = world_rule(w, 1, 3), found;

	rule->cfa = DP_CFA_EXPRESSION;
	rule->saves = DP_SAVES_APART | 2;
	rule->ra = (struct dp_where){ .kind = DP_WHERE_EXPRESSION, .offset = 4 };
	rule->fp = (struct dp_where){ .kind = DP_WHERE_VALUE, .offset = 5 };
	rule->sp = (struct dp_where){ .kind = DP_WHERE_CFA, .offset = 6 };
	look_up(code(1), 0, &found);
	cr_assert_eq(found.saves, DP_SAVES_APART | (WORLD_IMAGE_CELL + image->saves +
						    2 * (uint32_t)DP_CELLS(struct dp_saves)));
	cr_assert_eq(found.cfa_offset, (int32_t)(WORLD_IMAGE_CELL + image->programs + 3));
	cr_assert_eq(found.ra.offset, (int32_t)(WORLD_IMAGE_CELL + image->programs + 4));
	cr_assert_eq(found.fp.offset, (int32_t)(WORLD_IMAGE_CELL + image->programs + 5));
	cr_assert_eq(found.sp.offset, 6);
	rule->cfa = DP_CFA_SWITCH;
	look_up(code(1), 0, &found);
	cr_assert_eq(found.cfa_offset, (int32_t)(WORLD_IMAGE_CELL + image->programs + 3));
	rule->cfa = DP_CFA_REGISTER;
	look_up(code(1), 0, &found);
	cr_assert_eq(found.cfa_offset, 3);
}
