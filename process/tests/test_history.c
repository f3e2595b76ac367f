// SPDX-License-Identifier: Apache-2.0
/* A process's mappings over time, beside the same in a plain list. */
#include <criterion/criterion.h>

#include "base/cleanup.h"
#include "log/clock.h"
#include "process/history.h"

static struct history history;

static void end(void)
{
	history_done(&history);
	cr_expect(!history.living && !history.past);
}

TestSuite(history, .fini = end);

static struct mapping code(uint64_t start, uint64_t end, uint64_t born)
{
	return (struct mapping){
		.start = start, .end = end, .offset = start, .born = born, .died = TIME_NEVER
	};
}

static void add(uint64_t start, uint64_t end, uint64_t born)
{
	const struct mapping m = code(start, end, born);

	cr_assert_eq(history_add(&history, &m), 0);
}

/* What is left of it, too, tells when it was added. */
static void add_marked(uint64_t start, uint64_t end, uint64_t born)
{
	struct mapping m = code(start, end, born);

	m.bias = born;
	cr_assert_eq(history_add(&history, &m), 0);
}

static size_t count(uint64_t time)
{
	_cleanup_free_ const struct mapping **mappings = NULL;
	size_t n;

	cr_assert_eq(history_at(&history, time, &mappings, &n), 0);
	for (size_t i = 0; i < n; i++) {
		cr_assert(i == 0 || mappings[i - 1]->end <= mappings[i]->start);
		cr_assert_eq(history_find(&history, mappings[i]->start, time), mappings[i]);
	}
	return n;
}

static uint64_t size_at(uint64_t time)
{
	_cleanup_free_ const struct mapping **mappings = NULL;
	uint64_t size = 0;
	size_t n;

	cr_assert_eq(history_at(&history, time, &mappings, &n), 0);
	for (size_t i = 0; i < n; i++)
		size += mappings[i]->end - mappings[i]->start;
	return size;
}

Test(history, splits_what_is_covered)
{
	const struct mapping *m;

	add(0x1000, 0x9000, 1);
	add(0x3000, 0x4000, 2);
	cr_assert(count(1) == 1 && count(2) == 3 && history.n_ended == 1);
	m = history_find(&history, 0x4000, 2);
	cr_assert(m->start == 0x4000 && m->end == 0x9000 && m->offset == 0x4000 && m->born == 2);
	m = history_find(&history, 0x3000, 1);
	cr_assert(m->start == 0x1000 && m->died == 2);
	cr_assert_null(history_find(&history, 0x3000, 0));
	add(0, 0x10000, 3);
	cr_assert(history.n_living == 1 && history.n_ended == 4);
}

Test(history, forgets_what_had_ended)
{
	add(0x1000, 0x2000, 1);
	add(0x2000, 0x3000, 1);
	history_end(&history, 5);
	add(0x1000, 0x2000, 6);
	history_forget(&history, 5);
	cr_assert_eq(count(4), 2);
	history_forget(&history, 6);
	cr_assert(count(4) == 0 && count(6) == 1);
}

/* What a mapping refers to is held as long as one is kept. */
Test(history, holds_binaries)
{
	struct table table = { .cell = 400 };
	struct binary binary = { .table = &table };
	struct mapping m = code(0x1000, 0x9000, 1);

	m.binary = &binary;
	cr_assert_eq(history_add(&history, &m), 0);
	add(0x2000, 0x3000, 2);
	cr_assert_eq(binary.n_users, 3);
	history_forget(&history, 3);
	cr_assert_eq(binary.n_users, 2);
	history_end(&history, 4);
	history_forget(&history, 5);
	cr_assert_eq(binary.n_users, 0);
}

#define N_PAGES 24
#define N_TIMES 400

/* The page's mapping at each time, by when it was added; 0: none. */
static uint64_t truth[N_TIMES][N_PAGES];

Test(history, is_that_of_each_page)
{
	uint64_t random = 1;

	for (uint64_t time = 1; time < N_TIMES; time++) {
		uint64_t first, n;

		random = random * 6364136223846793005 + 1442695040888963407;
		first = (random >> 33) % N_PAGES;
		n = 1 + (random >> 45) % 5;
		if (n > N_PAGES - first)
			n = N_PAGES - first;
		memcpy(truth[time], truth[time - 1], sizeof(truth[time]));
		if (time % 50 == 0) {
			history_end(&history, time);
			memset(truth[time], 0, sizeof(truth[time]));
			continue;
		}
		add_marked(first << 12, (first + n) << 12, time);
		for (uint64_t page = first; page < first + n; page++)
			truth[time][page] = time;
	}
	for (uint64_t time = 1; time < N_TIMES; time++) {
		uint64_t size = 0;

		for (uint64_t page = 0; page < N_PAGES; page++) {
			const struct mapping *m = history_find(&history, page << 12, time);

			cr_assert_eq(m ? m->bias : 0, truth[time][page]);
			cr_assert(!m || m->offset == m->start);
			size += m ? 0x1000 : 0;
		}
		cr_assert_leq(count(time), N_PAGES);
		cr_assert_eq(size_at(time), size);
	}
}

/* CPU time of n mappings that come, are looked for, and go. */
static uint64_t time_of(uint64_t n)
{
	uint64_t start = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

	for (uint64_t i = 0; i < n; i++)
		add(0x2000 * (i * 7919 % n), 0x2000 * (i * 7919 % n) + 0x1000, 1);
	for (uint64_t i = 0; i < n; i++) {
		add(0x2000 * i, 0x2000 * i + 0x1000, 2 + i);
		cr_assert_eq(history_find(&history, 0x2000 * i, 2 + i)->born, 2 + i);
		cr_assert_eq(history_find(&history, 0x2000 * i, 1 + i)->born, 1);
	}
	history_end(&history, n + 2);
	history_forget(&history, UINT64_MAX);
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}

/* Sixteen times as many take sixteen times as long and a little more; not 256 times. */
Test(history, changes_at_the_cost_of_a_logarithm)
{
	uint64_t few = UINT64_MAX, many = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t of_few = time_of(1024), of_many = time_of(16 * 1024);

		few = of_few < few ? of_few : few;
		many = of_many < many ? of_many : many;
	}
	cr_assert_lt(many, 64 * few, "%llu and %llu ns", (unsigned long long)few,
		     (unsigned long long)many);
}
