// SPDX-License-Identifier: Apache-2.0
/* Samples of what is held, made of allocations that the test makes up and of what it says the kernel knows. */
#include "samples/live_memory.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "kernel/session.h"
#include "limits/limits.h"
#include "report/report_queue.h"

int __wrap_session_each_held(const struct session *s,
			     int (*fn)(void *arg, const struct dp_held *held), void *arg);
uint64_t __wrap_session_held_full(const struct session *s);
int __wrap_report_queue_add(struct report_queue *queue, const struct sample *sample,
			    const struct totals *totals);
bool __wrap_report_queue_is_full(const struct report_queue *queue);

static struct live_memory memory;
static struct dp_held held[8];
static size_t n_held;
static struct sample reported[8];
static size_t n_reported;
static int n_times_full;
static struct totals totals;

int __wrap_session_each_held(const struct session *s,
			     int (*fn)(void *arg, const struct dp_held *held), void *arg)
{
	int err = 0;

	(void)s;
	for (size_t i = 0; err == 0 && i < n_held; i++)
		err = fn(arg, &held[i]);
	return err;
}

uint64_t __wrap_session_held_full(const struct session *s)
{
	(void)s;
	return 0;
}

int __wrap_report_queue_add(struct report_queue *queue, const struct sample *sample,
			    const struct totals *so_far)
{
	(void)queue;
	cr_assert_eq(n_times_full, 0, "there was no room");
	cr_assert_lt(n_reported, ARRAY_SIZE(reported));
	cr_expect_eq(so_far->held, totals.held);
	reported[n_reported++] = *sample;
	return 0;
}

bool __wrap_report_queue_is_full(const struct report_queue *queue)
{
	(void)queue;
	return n_times_full > 0 && n_times_full-- > 0;
}

static void end(void)
{
	live_memory_done(&memory);
}

TestSuite(live_memory, .fini = end);

/* As the kernel sends it: the size, and the number of the sample. */
static struct {
	struct dp_names names;
	struct dp_sample sample;
	struct dp_values values;
	uint64_t words[DP_ALLOC_N_VALUES];
} record;

static uint64_t add_as(enum dp_event event, pid_t pid, uint64_t address, uint64_t number,
		       uint64_t size)
{
	const struct frame frames[] = { { .address = address }, { .address = 0x5000 } };
	struct sample sample = { .event = event,
				 .pid = pid,
				 .tid = pid + 1,
				 .cpu = 3,
				 .comm = "main",
				 .thread_name = "worker",
				 .user = frames,
				 .n_user = ARRAY_SIZE(frames),
				 .weight = 2 };

	record.sample = (struct dp_sample){ .flags = DP_SAMPLE_VALUES };
	record.values =
		(struct dp_values){ .part = { DP_RECORD_VALUES,
					      sizeof(record.values) + sizeof(record.words) },
				    .n = DP_ALLOC_N_VALUES };
	record.words[DP_ALLOC_SIZE] = size;
	record.words[DP_ALLOC_NUMBER] = number;
	cr_assert_eq(live_memory_add(&memory, (const void *)&record, &sample), 0);
	return sample.value_ns;
}

static void add(pid_t pid, uint64_t address, uint64_t number, uint64_t size)
{
	cr_expect_eq(add_as(DP_EVENT_ALLOC, pid, address, number, size), size);
}

static void hold(uint64_t number, uint64_t size, uint32_t weight)
{
	held[n_held++] = (struct dp_held){ .number = number, .size = size, .weight = weight };
}

static void report(void)
{
	cr_assert_eq(live_memory_report(&memory, NULL, NULL, &totals, 77), 0);
}

static void expect(size_t i, pid_t pid, uint64_t address, uint64_t n, uint64_t size)
{
	const struct sample *s = &reported[i];

	cr_assert_lt(i, n_reported);
	cr_expect_eq(s->event, DP_EVENT_HELD);
	cr_expect_eq(s->pid, pid);
	cr_expect_eq(s->user[0].address, address);
	cr_expect_eq(s->weight, n, "%" PRIu64, s->weight);
	cr_expect_eq(s->value_ns, size, "%" PRIu64, s->value_ns);
	cr_expect_eq(s->time_ns, 77);
	cr_expect_eq(s->tid, pid, "threads are not kept");
	cr_expect_str_eq(s->thread_name, "main");
	cr_expect_null(s->labels);
}

Test(live_memory, is_summed_by_stack_and_process)
{
	add(10, 0x1000, 1, 100);
	add(10, 0x2000, 2, 100);
	add(10, 0x1000, 3, 100);
	add(11, 0x1000, 5000, 100);
	add(10, 0x3000, 6, 100); /* given back */
	hold(1, 100, 1);
	hold(2, 100, 4);
	hold(3, 100, 2);
	hold(5000, 100, 1);
	report();
	cr_assert_eq(n_reported, 3);
	expect(0, 10, 0x1000, 3, 100);
	expect(1, 10, 0x2000, 4, 100);
	expect(2, 11, 0x1000, 1, 100);
	cr_expect_eq(totals.held, 8);
	cr_expect_eq(totals.held_bytes, 800);
}

/* The sum of pieces and that of bytes are right, whatever the sizes. */
Test(live_memory, of_different_sizes_has_the_sum)
{
	add(10, 0x1000, 1, 10);
	add(10, 0x1000, 2, 15);
	hold(1, 10, 1);
	hold(2, 15, 2);
	report();
	cr_assert_eq(n_reported, 2);
	expect(0, 10, 0x1000, 2, 13);
	expect(1, 10, 0x1000, 1, 14);
	cr_expect_eq(totals.held_bytes, 40);
}

Test(live_memory, is_of_allocations_alone)
{
	cr_expect_eq(add_as(DP_EVENT_UPROBE, 10, 0x1000, 1, 100), 0);
	hold(1, 100, 1);
	report();
	cr_expect_eq(n_reported, 0);
}

Test(live_memory, waits_for_room)
{
	add(10, 0x1000, 1, 10);
	hold(1, 10, 1);
	n_times_full = 2;
	report();
	cr_expect_eq(n_reported, 1);
}

/* A sample that was lost, or has a number beyond what is kept. */
Test(live_memory, whose_stack_was_lost_is_counted)
{
	add(10, 0x1000, MEMORY_SAMPLES_MAX, 10);
	cr_expect_eq(memory.size, 0, "there is no room for it");
	add(10, 0x1000, 7, 10);
	hold(6, 10, 1);
	hold(7, 10, 1);
	hold(MEMORY_SAMPLES_MAX, 10, 1);
	report();
	cr_expect_eq(n_reported, 1);
	cr_expect_eq(memory.n_unknown, 2);
}
