// SPDX-License-Identifier: Apache-2.0
/* When the agent samples less often, and when as often as before. */
#include <criterion/criterion.h>

#include "agent/rate.h"
#include "profiler/profiler_options.h"

#define SECOND UINT64_C(1000000000)
#define SHARE 0.01

static struct rate rate;
static struct rate_signs signs;
static uint64_t now;

static void set_up(void)
{
	now = 100 * SECOND;
	signs = (struct rate_signs){ .lost = 7, .cpu_ns = 8 * SECOND, .waited_ns = 9 * SECOND };
	rate_begin(&rate, &signs, now);
}

TestSuite(rate, .init = set_up);

/* What to divide by, if it is by four now. */
enum { LOWER = 8, KEEP = 4, RAISE = 2 };

static unsigned int look_at(uint64_t time)
{
	return rate_advised(&rate, &signs, SHARE, KEEP, time);
}

static unsigned int look(void)
{
	now += RATE_LOOK_NS;
	return look_at(now);
}

/* Of a hundred that were taken. */
static unsigned int look_after_losing(unsigned int n)
{
	signs.lost += n;
	signs.samples += 100 - n;
	return look();
}

static unsigned int look_after_losses(void)
{
	return look_after_losing(2);
}

/* Of a CPU's time in the interval, in percent. */
static unsigned int look_after_use(double percent, bool has_waited)
{
	signs.cpu_ns += (uint64_t)(percent / 100 * (double)RATE_LOOK_NS);
	signs.waited_ns += has_waited;
	return look();
}

Test(rate, is_kept_while_all_is_well)
{
	for (uint64_t i = 0; i < RATE_GOOD_NS / RATE_LOOK_NS - 1; i++)
		cr_assert_eq(look(), KEEP);
	cr_assert_eq(look(), RAISE);
	cr_assert_eq(look(), KEEP, "after as long again");
	now += RATE_GOOD_NS;
	cr_assert_eq(rate_advised(&rate, &signs, SHARE, 1, now), 1, "it is as it should be");
}

Test(rate, is_lowered_after_losses_in_a_row)
{
	cr_assert_eq(look_after_losses(), KEEP);
	cr_assert_eq(look(), KEEP);
	cr_assert_eq(look_after_losses(), KEEP, "not in a row");
	cr_assert_eq(look_after_losses(), LOWER);
	cr_assert_eq(look_after_losses(), KEEP);
	cr_assert_eq(look_after_losses(), LOWER, "the advice was not taken");
}

/* What there was no time for, there will be none for after a reload. */
Test(rate, is_kept_by_a_reload)
{
	struct profiler_options was = { .hz = 19, .event = { .source = &event_cpu } }, next = was;

	cr_assert_eq(rate_kept(&was, &next, 4), 4);
	next.hz = 99;
	cr_assert_eq(rate_kept(&was, &next, 4), 1);
}

Test(rate, is_kept_after_few_losses)
{
	for (int i = 0; i < 4; i++)
		cr_assert_eq(look_after_losing(1), KEEP);
	cr_assert_eq(look_after_losing(2), KEEP);
	cr_assert_eq(look_after_losing(2), LOWER);
}

Test(rate, is_lowered_if_sampling_takes_the_budget)
{
	cr_assert_eq(look_after_use(1.01, true), KEEP);
	cr_assert_eq(look_after_use(1.01, true), LOWER);
}

Test(rate, is_kept_if_names_wait_for_each_other)
{
	for (int i = 0; i < 4; i++)
		cr_assert_eq(look_after_use(0.99, true), KEEP);
}

Test(rate, is_kept_if_no_name_waits)
{
	for (int i = 0; i < 4; i++)
		cr_assert_eq(look_after_use(50, false), KEEP);
}

Test(rate, is_kept_without_a_budget)
{
	for (int i = 0; i < 4; i++) {
		signs.cpu_ns += RATE_LOOK_NS;
		signs.waited_ns++;
		now += RATE_LOOK_NS;
		cr_assert_eq(rate_advised(&rate, &signs, 0, KEEP, now), KEEP);
	}
}

Test(rate, is_raised_ten_minutes_after_the_last_loss)
{
	for (int i = 0; i < 30; i++)
		cr_assert_eq(look(), KEEP);
	cr_assert_eq(look_after_losses(), KEEP);
	for (uint64_t i = 0; i < RATE_GOOD_NS / RATE_LOOK_NS - 1; i++)
		cr_assert_eq(look(), KEEP);
	cr_assert_eq(look(), RAISE);
}

Test(rate, is_looked_at_by_time)
{
	signs.lost++;
	cr_assert_eq(look_at(now + RATE_LOOK_NS / 2), KEEP);
	cr_assert_eq(look(), KEEP);
	signs.lost++;
	cr_assert_eq(look_at(now + RATE_LOOK_NS / 2), KEEP);
	cr_assert_eq(look(), LOWER);
}

Test(rate, has_a_least_value)
{
	struct profiler_options options = { .event.source = &event_cpu, .hz = 19 };

	cr_assert_eq(rate_divided(&options, 1), 19);
	cr_assert_eq(rate_divided(&options, 2), 9);
	cr_assert_eq(rate_divided(&options, 16), 1);
	cr_assert_eq(rate_divided(&options, 32), 0);
	options.event.source = &event_cache_misses;
	cr_assert_eq(rate_divided(&options, 1), 19);
	cr_assert_eq(rate_divided(&options, 2), 0, "a sample might stand for too many events");
}
