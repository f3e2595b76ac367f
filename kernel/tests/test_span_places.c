// SPDX-License-Identifier: Apache-2.0
/* Places of functions whose calls label samples, of several probes. */
#include "kernel/span_places.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static struct dp_span_places all, added;

/* Functions of a size, each of which has a place afterwards. */
static int add(uint32_t slot, unsigned int probe, size_t n, uint64_t size)
{
	added = (struct dp_span_places){ 0 };
	for (size_t i = 0; i < n && i < DP_MAX_SPAN_PLACES; i++)
		added.of[i].size = size + i;
	return span_places_add(&all, 10 + slot, slot, probe, n, &added);
}

Test(span_places, are_the_first_that_are_free)
{
	cr_assert_eq(add(7, 0, 2, 100), 0);
	cr_assert_eq(add(9, 3, 3, 200), 0);
	cr_assert(added.of[0].id == DP_SPAN_ID(19, 3, 2) && added.of[2].id == DP_SPAN_ID(19, 3, 4));
	cr_assert(all.of[1].size == 101 && all.of[2].size == 200 && all.of[4].size == 202);
	cr_assert(all.of[1].slot == 7 && all.of[2].slot == 9 && all.of[4].id == added.of[2].id);
	span_places_drop(&all, 7);
	cr_assert(all.of[0].id == 0 && all.of[1].id == 0 && all.of[2].id != 0);
	cr_assert_eq(add(8, 1, 4, 300), 0);
	cr_assert(all.of[1].size == 301 && all.of[5].size == 302 && all.of[6].size == 303);
	cr_assert_eq(added.of[2].id, DP_SPAN_ID(18, 1, 5));
	cr_assert(DP_SPAN_PROBE(added.of[2].id) == 1 && DP_SPAN_PROBE(all.of[2].id) == 3);
}

Test(span_places, are_not_more_than_there_are)
{
	struct dp_span_places before;

	cr_assert_eq(add(1, 0, 5, 1), 0);
	before = all;
	cr_assert_eq(add(2, 1, 4, 2), -ENOSPC);
	cr_assert_eq(memcmp(&before, &all, sizeof(all)), 0);
	cr_assert_eq(add(2, 1, 3, 2), 0);
	cr_assert_eq(add(3, 2, 1, 3), -ENOSPC);
}

/* The kernel looks at no others. */
Test(span_places, are_counted_up_to_the_last_one)
{
	struct dp_span_places before, both;

	cr_assert_eq(add(1, 0, 2, 1), 0);
	cr_assert_eq(all.n, 2);
	before = all;
	cr_assert_eq(add(2, 1, 1, 2), 0);
	cr_assert_eq(all.n, 3);
	span_places_common(&before, &all, &both);
	cr_assert_eq(both.n, 2);
	span_places_drop(&all, 1);
	cr_assert(all.n == 3 && all.of[0].id == 0);
	span_places_drop(&all, 2);
	cr_assert_eq(all.n, 0);
}

Test(span_places, are_timed_until_the_last_one_is_gone)
{
	struct dp_span_places timed = { .are_timed = 1 };

	cr_assert_eq(span_places_add(&all, 1, 4, 0, 1, &timed), 0);
	cr_assert(all.are_timed);
	span_places_drop(&all, 5);
	cr_assert(all.are_timed && all.of[0].id != 0);
	span_places_drop(&all, 4);
	cr_assert(!all.are_timed);
	cr_assert_eq(add(1, 0, 1, 1), 0);
	cr_assert(!all.are_timed);
}

/* While the kernel reads them, no place has the id of one and the code of another. */
Test(span_places, are_without_an_id_while_they_change)
{
	struct dp_span_places before, both;

	cr_assert_eq(add(1, 0, 1, 1), 0);
	before = all;
	cr_assert_eq(add(2, 1, 1, 50), 0);
	span_places_common(&before, &all, &both);
	cr_assert(both.of[0].id == all.of[0].id && both.of[1].id == 0 && both.of[1].size == 50);
}
