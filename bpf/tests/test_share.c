// SPDX-License-Identifier: Apache-2.0
/* The share of a CPU that costly walks may take. */
#include <criterion/criterion.h>

#include "bpf/port.h"
#include "bpf/share.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define START (5 * SECOND)

static struct shares shares;

/* Takes so many tenths of the share from a moment on, which is so many ms behind START, by walks of one each. */
static void take(uint32_t pid, uint64_t at, uint64_t tenths)
{
	for (uint64_t i = 0; i < tenths * SHARE_MAX_NS / (10 * MS); i++)
		share_charge(&shares, pid, START + at * MS, START + (at + 1) * MS, SHARE_MAX_NS);
}

static bool is_taken(uint32_t pid, uint64_t at)
{
	return share_is_taken(&shares, pid, START + at * MS, SHARE_MAX_NS);
}

Test(share, is_taken_by_many_walks)
{
	for (uint64_t at = 0; at < 90; at += 10) {
		take(1, at, 1);
		cr_assert_not(is_taken(1, at + 5));
	}
	cr_assert_eq(shares.until, 0, "nobody is to be asked");
	take(1, 90, 1);
	cr_assert(is_taken(1, 95));
	cr_assert_eq(shares.until, START + SECOND);
}

Test(share, is_of_one_second)
{
	take(1, 300, 10);
	cr_assert(is_taken(1, 1299));
	cr_assert_not(is_taken(1, 1300));
	take(1, 1300, 9);
	cr_assert_not(is_taken(1, 1310), "the second before does not count");
	cr_assert_eq(shares.until, START + 1300 * MS);
	take(1, 1310, 1);
	cr_assert(is_taken(1, 1311));
	cr_assert_eq(shares.until, START + 2300 * MS);
}

Test(share, is_not_that_of_others)
{
	take(1, 0, 10);
	cr_assert_not(is_taken(2, 5));
	take(2, 5, 9);
	cr_assert_not(is_taken(2, 20));
	/* But for those with the same slot: otherwise many processes had many shares. */
	cr_assert(is_taken(1 + SHARE_SLOTS, 20));
}

Test(share, of_the_last_one_is_remembered)
{
	take(2, 500, 10);
	take(1, 0, 10);
	cr_assert_eq(shares.until, START + 1500 * MS, "not the end of a second that ends earlier");
}

Test(share, is_not_taken_by_a_walk_that_was_preempted)
{
	for (uint64_t ns = 0; ns < SHARE_MAX_NS / 10; ns += SHARE_MOST_NS)
		share_charge(&shares, 1, START, START + 500 * MS, SHARE_MAX_NS);
	cr_assert_not(is_taken(1, 500));
	take(1, 500, 9);
	cr_assert(is_taken(1, 600));
}

/* So that honest walks, of a hundred frames that lie in many places, do not take it at a rate that the user has chosen. */
Test(share, is_larger_at_higher_rates)
{
	cr_assert_eq(share_of_rate(0), SHARE_MAX_NS);
	cr_assert_eq(share_of_rate(99), SHARE_MAX_NS);
	cr_assert_eq(share_of_rate(999), UINT64_C(999) * SHARE_SAMPLE_NS);
	cr_assert_eq(share_of_rate(1000000), SHARE_RATE_MAX_NS);
	take(1, 0, 10);
	cr_assert(share_is_taken(&shares, 1, START + 30 * MS, SHARE_MAX_NS));
	cr_assert_not(share_is_taken(&shares, 1, START + 30 * MS, share_of_rate(999)));
}

/* A sample whose walk took long copies less. */
Test(share, of_a_sample_is_for_walk_and_copy)
{
	const uint32_t all = DP_MAX_CHUNKS * SHARE_CHUNK_COST;

	cr_assert_eq(share_chunks(0, DP_MAX_CHUNKS), DP_MAX_CHUNKS);
	cr_assert_eq(share_chunks(WALK_MAX_COST - all, DP_MAX_CHUNKS), DP_MAX_CHUNKS);
	cr_assert_eq(share_chunks(WALK_MAX_COST - all / 2, DP_MAX_CHUNKS),
		     DP_MAX_CHUNKS / 2 + SHARE_FREE_CHUNKS);
	cr_assert_eq(share_chunks(WALK_MAX_COST, DP_MAX_CHUNKS), SHARE_FREE_CHUNKS);
	cr_assert_eq(share_chunks(WALK_MAX_COST + 1000, DP_MAX_CHUNKS), SHARE_FREE_CHUNKS);
	cr_assert_eq(share_chunks(WALK_MAX_COST, 2), 2);
}
