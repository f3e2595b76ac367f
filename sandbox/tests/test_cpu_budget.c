// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>
#include <pthread.h>
#include <unistd.h>

#include "limits/limits.h"
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

TestSuite(cpu_budget, .fini = tear_down, .timeout = 60);

Test(cpu_budget, is_paid_back_in_time)
{
	uint64_t began = clock_now_ns();

	begin(0.5);
	cr_assert_eq(cpu_budget_pause_ns(budget, 0), 0);
	/* What is saved, and 100 ms more, which take 200 ms. */
	cpu_budget_spend(budget, 0, CPU_BUDGET_SAVED_NS / 2 + 100 * MS);
	cr_assert(cpu_budget_wait(budget, 0));
	cr_assert_geq(clock_now_ns() - began, 200 * MS);
	cr_assert_eq(cpu_budget_pause_ns(budget, 0), 0);
	cr_assert_eq(counts.spent_ns, CPU_BUDGET_SAVED_NS / 2 + 100 * MS);
}

/* Who has spent nothing does not wait for who has. */
Test(cpu_budget, is_each_users_own)
{
	begin(0.5);
	cpu_budget_spend(budget, 1, CPU_BUDGET_SAVED_NS);
	cr_assert_gt(cpu_budget_pause_ns(budget, 1), 0);
	cr_assert_eq(cpu_budget_pause_ns(budget, 2), 0);
}

/* 50 ms of half of a half of a CPU take 200 ms, however much the other one owes. */
Test(cpu_budget, pays_all_alike)
{
	uint64_t began = clock_now_ns();

	begin(0.5);
	cpu_budget_spend(budget, 1, CPU_BUDGET_SAVED_NS / 2 + 20000 * MS);
	cpu_budget_spend(budget, 2, 50 * MS);
	cr_assert(cpu_budget_wait(budget, 2));
	cr_assert_geq(clock_now_ns() - began, 199 * MS);
	cr_assert_gt(cpu_budget_pause_ns(budget, 1), 0);
}

/* Nor does it count as one who waits. */
Test(cpu_budget, lets_work_rest_that_nobody_waits_for)
{
	begin(0.001);
	cr_assert_eq(cpu_budget_rest_ns(budget, CPU_BUDGET_FETCHES), 0);
	cpu_budget_spend(budget, CPU_BUDGET_FETCHES, CPU_BUDGET_SAVED_NS);
	cr_assert_gt(cpu_budget_rest_ns(budget, CPU_BUDGET_FETCHES), 0);
	cr_assert_eq(cpu_budget_pause_ns(budget, 1), 0);
	cr_assert_eq(counts.waited_ns, 0);
	cpu_budget_lift(budget);
	cr_assert_eq(cpu_budget_rest_ns(budget, CPU_BUDGET_FETCHES), 0);
	cr_assert_eq(cpu_budget_rest_ns(NULL, CPU_BUDGET_FETCHES), 0);
}

/* There is no other user then, so this one waits as long as it takes. */
Test(cpu_budget, waits_for_a_user_if_the_others_are_no_users)
{
	begin(0.1);
	cpu_budget_spend(budget, CPU_BUDGET_FETCHES, 1);
	cr_assert_eq(cpu_budget_rest_ns(budget, CPU_BUDGET_FETCHES), 0);
	cpu_budget_spend(budget, 1, CPU_BUDGET_SAVED_NS / 10 + 300 * MS);
	cr_assert(cpu_budget_wait(budget, 1)); /* three seconds */
	cr_assert_eq(counts.refused, 0);
}

/* The others have asked, and are served by the one who waits. */
Test(cpu_budget, lets_others_wait_for_a_part_of_the_time)
{
	uint64_t began = clock_now_ns();

	begin(0.001);
	cr_assert_eq(cpu_budget_pause_ns(budget, 2), 0);
	cpu_budget_spend(budget, 1, CPU_BUDGET_SAVED_NS);
	cr_assert_not(cpu_budget_wait(budget, 1));
	cr_assert_geq(clock_now_ns() - began, CPU_BUDGET_WAITED_NS);
	began = clock_now_ns();
	cr_assert_not(cpu_budget_wait(budget, 1));
	cr_assert_lt(clock_now_ns() - began, CPU_BUDGET_WAITED_NS);
	cr_assert_eq(counts.refused, 2);
	cr_assert(cpu_budget_wait(budget, 2));
}

Test(cpu_budget, tells_few_users_apart)
{
	begin(0.001);
	for (uid_t user = 0; user < 1000; user++)
		cpu_budget_spend(budget, user, MS);
	cpu_budget_spend(budget, 0, CPU_BUDGET_SAVED_NS);
	cr_assert_gt(cpu_budget_pause_ns(budget, 999), 0);
	cr_assert_gt(cpu_budget_pause_ns(budget, 1000), 0);
}

/* The pause after all that is saved and so much more, unless a busy machine let that be paid back before. */
static uint64_t pause_after(double share, unsigned int idle_us, uint64_t more_ns)
{
	uint64_t saved = (uint64_t)(share * (double)CPU_BUDGET_SAVED_NS), spent, pause;

	do {
		budget = cpu_budget_drop(budget);
		begin(share);
		usleep(idle_us);
		cr_assert_eq(cpu_budget_pause_ns(budget, 0), 0);
		spent = clock_now_ns();
		cpu_budget_spend(budget, 0, saved + more_ns);
		pause = cpu_budget_pause_ns(budget, 0);
	} while (share * (double)(clock_now_ns() - spent) > (double)more_ns / 3);
	return pause;
}

Test(cpu_budget, saves_no_more_than_that)
{
	cr_assert_gt(pause_after(1, 300000, 150 * MS), 0);
}

/* 9 us of a ten-thousandth of a CPU take 90 ms. */
Test(cpu_budget, tells_how_long_it_takes)
{
	cr_assert_gt(pause_after(0.0001, 0, 9000), 10 * MS);
}

Test(cpu_budget, does_not_wait_before_it_begins)
{
	cr_assert_eq(cpu_budget_new(0.001, &counts, &budget), 0);
	cpu_budget_spend(budget, 0, 100 * CPU_BUDGET_SAVED_NS);
	cr_assert_eq(cpu_budget_pause_ns(budget, 0), 0);
	cr_assert_eq(counts.spent_ns, 0);
	cpu_budget_begin(budget);
	cr_assert_eq(cpu_budget_pause_ns(budget, 0), 0);
}

static void *wait_in_thread(void *arg)
{
	cpu_budget_wait(arg, 0);
	return NULL;
}

Test(cpu_budget, nobody_waits_for_one_that_is_lifted)
{
	pthread_t thread;

	begin(0.001);
	cpu_budget_spend(budget, 0, 100 * CPU_BUDGET_SAVED_NS);
	cr_assert_eq(pthread_create(&thread, NULL, wait_in_thread, budget), 0);
	cpu_budget_lift(budget);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_eq(cpu_budget_pause_ns(budget, 0), 0);
}

Test(cpu_budget, stays_for_its_last_user)
{
	begin(1);
	cr_assert_eq(cpu_budget_hold(budget), budget);
	cr_assert_null(cpu_budget_drop(budget));
	cpu_budget_lift(budget);
	cpu_budget_spend(budget, 0, 1);
	cr_assert_eq(counts.spent_ns, 0);
	cr_assert_null(cpu_budget_hold(NULL));
}

Test(cpu_budget, none_is_no_limit)
{
	cr_assert(cpu_budget_wait(NULL, 0));
	cpu_budget_spend(NULL, 0, 1);
	cr_assert_eq(cpu_budget_pause_ns(NULL, 0), 0);
}
