// SPDX-License-Identifier: Apache-2.0
/* Samples of all CPUs in the order of their times, when they arrive in another one. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "limits/limits.h"
#include "samples/queue.h"
#include "samples/unwinder.h"

TestSuite(queue);

static void add(struct queue *q, uint64_t time)
{
	struct named_sample sample = { .sample.time_ns = time };

	cr_assert(queue_add_sample(q, &sample, sizeof(sample), NULL) == 0);
}

static void add_end(struct queue *q, uint64_t time)
{
	struct dp_off_cpu_end end = { .end_ns = time };

	cr_assert(queue_add_off_cpu_end(q, &end) == 0);
}

static uint64_t take(struct queue *q)
{
	struct queued entry;

	cr_assert_not_null(queue_first(q));
	entry = queue_take_first(q);
	queued_done(&entry);
	return entry.time;
}

Test(queue, gives_what_was_added_by_time)
{
	struct queue q = { 0 };

	add(&q, 30);
	add(&q, 10);
	add(&q, 20);
	cr_assert_null(queue_first(&q), "not before they are in order");
	queue_sort(&q);
	cr_assert_eq(take(&q), 10);
	add(&q, 25);
	add(&q, 5); /* late, and taken before all others */
	queue_sort(&q);
	queue_sort(&q);
	cr_assert_eq(take(&q), 5);
	cr_assert_eq(take(&q), 20);
	cr_assert_eq(take(&q), 25);
	cr_assert_eq(take(&q), 30);
	cr_assert_null(queue_first(&q));
	queue_done(&q);
}

Test(queue, puts_a_sample_before_the_end_of_a_block)
{
	struct queue q = { 0 };

	add_end(&q, 10);
	add(&q, 10);
	queue_sort(&q);
	cr_assert_not_null(queue_first(&q)->sample);
	take(&q);
	cr_assert_null(queue_first(&q)->sample);
	queue_done(&q);
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/*
 * Rings are read in turn while other records are reported: the result is that of one sort of all.
 */
Test(queue, keeps_order_over_many_rounds)
{
	enum { ROUNDS = 200, PER_ROUND = 50, ALL = ROUNDS * PER_ROUND };
	static uint64_t added[ALL], taken[ALL];
	size_t n_added = 0, n_taken = 0;
	struct queue q = { 0 };

	srand(1);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		for (unsigned int i = 0; i < PER_ROUND; i++) {
			added[n_added] = round * 100 + (uint64_t)rand() % 150;
			add(&q, added[n_added++]);
		}
		queue_sort(&q);
		/* Nothing that is still to come is older than this; and some are left for later. */
		while (queue_first(&q) && queue_first(&q)->time < (round + 1) * 100) {
			taken[n_taken++] = take(&q);
			if (round % 3 == 0 && n_taken % 40 == 0)
				break;
		}
	}
	while (queue_first(&q) && n_taken < ALL)
		taken[n_taken++] = take(&q);
	cr_assert_null(queue_first(&q));
	cr_assert_eq(n_taken, ALL);
	cr_assert_eq(q.n_bytes, 0);
	qsort(added, ALL, sizeof(*added), compare_times);
	cr_assert_arr_eq(added, taken, sizeof(added));
	queue_done(&q);
}

Test(queue, keeps_a_sample_with_what_is_behind_it)
{
	const size_t size = sizeof(struct named_sample) + 2 * sizeof(__u64);
	struct named_sample *record = calloc(1, size);
	struct stack_copy *copy = calloc(1, sizeof(*copy));
	struct queue q = { 0 };

	record->sample = (struct dp_sample){ .time_ns = 7, .n_user = 2 };
	record->frames[1] = 0x20;
	copy->n_bytes = 1000;
	cr_assert(queue_add_sample(&q, record, size, copy) == 0);
	cr_assert_eq(q.n_copies, 1);
	cr_assert_eq(q.n_bytes, sizeof(struct queued) + size + 1000);
	free(record);
	queue_sort(&q);
	cr_assert_eq(queue_first(&q)->sample->frames[1], 0x20);
	cr_assert(queue_first(&q)->copy == copy);
	take(&q);
	cr_assert_eq(q.n_copies, 0);
	cr_assert_eq(q.n_bytes, 0);
	queue_done(&q);
}

Test(queue, is_full_until_something_is_dropped)
{
	enum { SIZE = 1 << 20 };
	struct named_sample *sample = calloc(1, SIZE);
	struct queue q = { 0 };
	size_t n = 0;

	while (!queue_is_full(&q) && ++n < 1000)
		cr_assert(queue_add_sample(&q, sample, SIZE, NULL) == 0);
	cr_assert_eq(n, QUEUE_MAX / (sizeof(struct queued) + SIZE) + 1);
	queue_sort(&q);
	take(&q);
	cr_assert(!queue_is_full(&q));
	queue_done(&q);
	free(sample);
}
