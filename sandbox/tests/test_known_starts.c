// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>
#include <errno.h>

#include "limits/limits.h"
#include "sandbox/known_starts.h"
#include "symbols/location_cache.h"

Test(known_starts, are_found_by_address)
{
	struct known_starts starts = { 0 };
	uint64_t start = 7;
	int err;

	cr_assert_not(known_starts_find(&starts, 0x1010, &err, &start));
	cr_assert_eq(known_starts_add(&starts, 0x1010, 0, 0x1000), 0);
	cr_assert(known_starts_find(&starts, 0x1010, &err, &start));
	cr_assert_eq(err, 0);
	cr_assert_eq(start, 0x1000);
	cr_assert_not(known_starts_find(&starts, 0x1000, &err, &start));
	known_starts_done(&starts);
	cr_assert_not(known_starts_find(&starts, 0x1010, &err, &start));
}

Test(known_starts, may_be_that_there_is_none)
{
	struct known_starts starts = { 0 };
	uint64_t start = 7;
	int err;

	cr_assert_eq(known_starts_add(&starts, 0x1010, -ENOENT, 0x1000), 0);
	cr_assert(known_starts_find(&starts, 0x1010, &err, &start));
	cr_assert_eq(err, -ENOENT);
	cr_assert_eq(start, 7);
	cr_assert_eq(known_starts_add(&starts, 0x1010, 0, 0x1000), 0);
	cr_assert(known_starts_find(&starts, 0x1010, &err, &start));
	cr_assert_eq(start, 0x1000);
	known_starts_done(&starts);
}

Test(known_starts, are_bounded)
{
	struct known_starts starts = { 0 };
	uint64_t start;
	int err;

	for (uint64_t i = 0; i < LOCATION_CACHE_MAX; i++)
		cr_assert_eq(known_starts_add(&starts, i, 0, i), 0);
	cr_assert(known_starts_find(&starts, 0, &err, &start));
	cr_assert_eq(known_starts_add(&starts, LOCATION_CACHE_MAX, 0, 1), 0);
	cr_assert_not(known_starts_find(&starts, 0, &err, &start));
	cr_assert(known_starts_find(&starts, LOCATION_CACHE_MAX, &err, &start));
	known_starts_done(&starts);
}
