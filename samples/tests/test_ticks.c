// SPDX-License-Identifier: Apache-2.0
#include "samples/ticks.h"

#include <criterion/criterion.h>

static struct ticks ticks;

static void begin(void)
{
	cr_assert_eq(ticks_init(&ticks, 3, 100), 0);
}

static void end(void)
{
	ticks_done(&ticks);
}

TestSuite(ticks, .init = begin, .fini = end);

Test(ticks, are_not_known_before_a_sample)
{
	cr_assert_eq(ticks_next(&ticks, 1000), 0);
	ticks_note(&ticks, 3, 1000);
	cr_assert_eq(ticks_next(&ticks, 1000), 0, "there is no such CPU");
}

Test(ticks, are_not_known_without_a_timer)
{
	ticks.period_ns = 0;
	ticks_note(&ticks, 0, 1000);
	cr_assert_eq(ticks_next(&ticks, 1000), 0);
}

Test(ticks, are_whole_periods_apart)
{
	ticks_note(&ticks, 2, 1030);
	cr_assert_eq(ticks_next(&ticks, 1030), 1030);
	cr_assert_eq(ticks_next(&ticks, 1031), 1130);
	cr_assert_eq(ticks_next(&ticks, 1130), 1130);
	cr_assert_eq(ticks_next(&ticks, 5555), 5630);
	cr_assert_eq(ticks_next(&ticks, 1029), 1030);
	cr_assert_eq(ticks_next(&ticks, 930), 930);
	cr_assert_eq(ticks_next(&ticks, 801), 830);
	ticks_note(&ticks, 2, 2044);
	cr_assert_eq(ticks_next(&ticks, 2100), 2144, "the last sample's count");
}

Test(ticks, are_the_first_of_any_cpu)
{
	ticks_note(&ticks, 0, 1030);
	ticks_note(&ticks, 1, 5080);
	cr_assert_eq(ticks_next(&ticks, 6000), 6030);
	cr_assert_eq(ticks_next(&ticks, 6031), 6080);
	cr_assert_eq(ticks_next(&ticks, 6081), 6130);
}

#define MS UINT64_C(1000000)

/* Processes are made known to the kernel before it takes samples, which are reported once they are walked. */
Test(ticks, turn_comes_before_and_after_samples)
{
	uint64_t tick = 5000 * MS, lead = 1500000, walked = 10300000 + 1500000;

	ticks.period_ns = 50 * MS;
	cr_assert_eq(ticks_turn(&ticks, tick), 0, "nobody knows when they are");
	ticks_note(&ticks, 0, tick);
	cr_assert_eq(ticks_turn(&ticks, tick - 10 * MS), tick - lead);
	cr_assert_eq(ticks_turn(&ticks, tick - lead), tick + walked);
	cr_assert_eq(ticks_turn(&ticks, tick + 5 * MS), tick + walked);
	cr_assert_eq(ticks_turn(&ticks, tick + walked), tick + 50 * MS - lead);
	cr_assert_eq(ticks_turn(&ticks, tick + 1020 * MS), tick + 1050 * MS - lead);
	ticks.period_ns = 4 * MS;
	cr_assert_eq(ticks_turn(&ticks, tick + 13 * MS), tick + 15 * MS,
		     "a quarter of a period before");
}

Test(ticks, turn_is_one_for_samples_that_are_near)
{
	uint64_t tick = 5000 * MS, lead = 1500000, walked = 10300000 + 1500000;

	ticks.period_ns = 50 * MS;
	ticks_note(&ticks, 0, tick);
	ticks_note(&ticks, 1, tick + 1 * MS);
	cr_assert_eq(ticks_turn(&ticks, tick + 20 * MS), tick + 50 * MS - lead);
	cr_assert_eq(ticks_turn(&ticks, tick + 50 * MS - lead), tick + 50 * MS + walked);
	cr_assert_eq(ticks_turn(&ticks, tick + 50 * MS + walked), tick + 100 * MS - lead);
	ticks_note(&ticks, 1, tick + 25 * MS);
	cr_assert_eq(ticks_turn(&ticks, tick + 20 * MS), tick + 25 * MS - lead);
	cr_assert_eq(ticks_turn(&ticks, tick + 25 * MS), tick + 25 * MS + walked);
}
