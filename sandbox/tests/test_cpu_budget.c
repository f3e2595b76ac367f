// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>
#include <pthread.h>
#include <unistd.h>

#include "log/clock.h"
#include "sandbox/cpu_budget.h"

#define MS UINT64_C(1000000)

static struct cpu_budget_counts counts;
static struct cpu_budget *budget;

static void begin(double share)
{
	cr_assert_eq(cpu_budget_new(share, &counts, &budget), 0);
	cpu_budget_begin(budget);
}

static void tear_down(void)
{
	cpu_budget_drop(budget);
}

TestSuite(cpu_budget, .fini = tear_down, .timeout = 30);

/* The time until a step may begin. */
static uint64_t wait_for_it(void)
{
	uint64_t began = clock_now_ns();

	cpu_budget_wait(budget);
	return clock_now_ns() - began;
}

Test(cpu_budget, is_paid_back_in_time)
{
	begin(0.5);
	cr_assert_eq(cpu_budget_pause_ns(budget), 0);
	/* What is saved, and 100 ms more, which take 200 ms. */
	cpu_budget_spend(budget, CPU_BUDGET_SAVED_NS / 2 + 100 * MS);
	cr_assert_gt(cpu_budget_pause_ns(budget), 0);
	cr_assert_gt(wait_for_it(), 150 * MS);
	cr_assert_eq(cpu_budget_pause_ns(budget), 0);
	cr_assert_eq(counts.spent_ns, CPU_BUDGET_SAVED_NS / 2 + 100 * MS);
	cr_assert_gt(counts.waited_ns, 150 * MS);
}

Test(cpu_budget, saves_no_more_than_that)
{
	begin(1);
	usleep(300000);
	cr_assert_eq(cpu_budget_pause_ns(budget), 0);
	cpu_budget_spend(budget, CPU_BUDGET_SAVED_NS + 150 * MS);
	cr_assert_gt(cpu_budget_pause_ns(budget), 0);
}

/* 9 us of a ten-thousandth of a CPU take 90 ms. */
Test(cpu_budget, tells_how_long_it_takes)
{
	begin(0.0001);
	cpu_budget_spend(budget, CPU_BUDGET_SAVED_NS / 10000 + 9000);
	cr_assert_gt(cpu_budget_pause_ns(budget), 10 * MS);
}

Test(cpu_budget, does_not_wait_before_it_begins)
{
	cr_assert_eq(cpu_budget_new(0.001, &counts, &budget), 0);
	cpu_budget_spend(budget, 100 * CPU_BUDGET_SAVED_NS);
	cr_assert_eq(cpu_budget_pause_ns(budget), 0);
	cr_assert_eq(counts.spent_ns, 0);
	cpu_budget_begin(budget);
	cr_assert_eq(cpu_budget_pause_ns(budget), 0);
}

static void *wait_in_thread(void *arg)
{
	cpu_budget_wait(arg);
	return NULL;
}

Test(cpu_budget, nobody_waits_for_one_that_is_lifted)
{
	pthread_t thread;

	begin(0.001);
	cpu_budget_spend(budget, 100 * CPU_BUDGET_SAVED_NS);
	cr_assert_eq(pthread_create(&thread, NULL, wait_in_thread, budget), 0);
	cpu_budget_lift(budget);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_eq(cpu_budget_pause_ns(budget), 0);
}

Test(cpu_budget, stays_for_its_last_user)
{
	begin(1);
	cr_assert_eq(cpu_budget_hold(budget), budget);
	cr_assert_null(cpu_budget_drop(budget));
	cpu_budget_lift(budget);
	cpu_budget_spend(budget, 1);
	cr_assert_eq(counts.spent_ns, 0);
	cr_assert_null(cpu_budget_hold(NULL));
}

Test(cpu_budget, none_is_no_limit)
{
	cpu_budget_wait(NULL);
	cpu_budget_spend(NULL, 1);
	cr_assert_eq(cpu_budget_pause_ns(NULL), 0);
}
