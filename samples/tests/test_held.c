// SPDX-License-Identifier: Apache-2.0
/* Samples that wait for a table in the making, and what has to wait with them. */
#include <errno.h>
#include <sys/stat.h>

#include "limits/limits.h"
#include "process/process_list.h"
#include "process/tests/process_world.h"
#include "samples/held.h"
#include "samples/unwinder.h"

#define N_REPORTED 16

static struct held held;
static struct {
	uint64_t time;
	bool is_end;
} reported[N_REPORTED];
static size_t n_reported;
static int report_err;

static int report(void *arg, struct queued *q)
{
	cr_assert_lt(n_reported, N_REPORTED);
	reported[n_reported].time = q->time;
	reported[n_reported++].is_end = !q->sample;
	return report_err;
}

/* From time 100 on, the first process has a file mapped that workers read. */
static void set_up(void)
{
	struct mmap_record r = { .pid = PID(0),
				 .time = 100,
				 .start = 0x10000,
				 .end = 0x20000,
				 .name = "/proc/self/exe" };
	struct stat st;

	begin();
	table.all = true;
	binary_store_start_workers(&binaries);
	cr_assert_eq(stat(r.name, &st), 0);
	r.file.inode = st.st_ino;
	map(0, 1, 0x1000, 0x2000);
	map(1, 1, 0x1000, 0x2000);
	cr_assert_eq(process_table_on_mmap(&table, &r), 0);
	cr_assert(process_is_pending(process_table_find(&table, PID(0)), 100));
}

static void tear_down(void)
{
	held_done(&held);
	end();
}

TestSuite(held, .init = set_up, .fini = tear_down, .timeout = 60);

static void settle(void)
{
	while (binaries.n_jobs > 0)
		binary_store_wait(&binaries, 1000);
	process_table_settle(&table);
}

static struct queued sample(int n, uint64_t time, bool late)
{
	struct queued q = { .time = time,
			    .n_bytes = 100,
			    .sample = calloc(1, sizeof(*q.sample)),
			    .copy = late ? calloc(1, sizeof(*q.copy)) : NULL };

	q.sample->sample.pid = (__u32)PID(n);
	q.sample->sample.tid = (__u32)PID(n) + 100;
	q.sample->sample.time_ns = time;
	q.sample->sample.flags = late ? DP_SAMPLE_LATE : 0;
	return q;
}

static struct queued block_end(int n, uint64_t began, uint64_t time)
{
	return (struct queued){
		.time = time,
		.n_bytes = 10,
		.end = { .tid = (__u32)PID(n) + 100, .time_ns = began, .end_ns = time }
	};
}

/* As the caller does. True: it is held. */
static bool offer(struct queued q)
{
	struct process *p =
		q.sample ? process_table_find(&table, (pid_t)q.sample->sample.pid) : NULL;

	if (!held_wants(&held, p, &q)) {
		queued_done(&q);
		return false;
	}
	cr_assert_eq(held_add(&held, p, &q), 0);
	return true;
}

static void release(uint64_t before)
{
	cr_assert_eq(held_release(&held, &table, before, report, NULL), 0);
}

Test(held, are_samples_of_code_that_is_not_known_yet)
{
	cr_expect(!offer(sample(0, 99, true)), "before it was mapped");
	cr_expect(!offer(sample(0, 100, false)), "without a stack, there is nothing to wait for");
	cr_expect(!offer(sample(1, 100, true)), "another process");
	cr_expect(offer(sample(0, 100, true)));
	cr_expect_eq(held_oldest(&held), 100);
	release(0);
	cr_assert(held.n == 1 && n_reported == 0);
	settle();
	cr_expect(!process_is_pending(process_table_find(&table, PID(0)), 100));
	release(0);
	cr_assert(held.n == 0 && n_reported == 1 && held.n_bytes == 0);
	cr_expect_eq(held_oldest(&held), UINT64_MAX);
	cr_expect(!offer(sample(0, 101, true)));
}

/* The list of its mappings will tell where they were taken. */
Test(held, are_samples_of_a_process_whose_mappings_are_being_read)
{
	struct process *p = process_table_find(&table, PID(1));
	struct process_list list = { .time = 100 };

	p->list = &list;
	cr_expect(!offer(sample(1, 99, true)), "it is known what was mapped then");
	cr_expect(offer(sample(1, 100, true)));
	release(0);
	cr_assert(held.n == 1 && n_reported == 0);
	p->list = NULL;
	release(0);
	cr_assert(held.n == 0 && n_reported == 1);
	p->list = &list;
	p->is_unread = true;
	cr_expect(offer(sample(1, 99, true)));
	p->list = NULL;
	p->is_unread = false;
	release(0);
}

/* A process's samples stay in order, and other processes do not wait. */
Test(held, keep_later_samples_of_their_process)
{
	cr_assert(offer(sample(0, 110, true)));
	cr_assert(offer(sample(0, 120, false)));
	cr_assert(!offer(sample(1, 130, false)));
	cr_assert(offer(sample(0, 140, true)));
	release(0);
	cr_assert(held.n == 3 && n_reported == 0);
	cr_assert(offer(sample(0, 150, false)), "the count is that of those that are held");
	settle();
	release(0);
	cr_assert_eq(n_reported, 4);
	for (size_t i = 1; i < n_reported; i++)
		cr_assert_lt(reported[i - 1].time, reported[i].time);
	cr_assert(!offer(sample(0, 160, false)));
}

Test(held, keep_the_ends_of_their_blocks)
{
	cr_assert(!offer(block_end(0, 0, 105)));
	cr_assert(offer(sample(0, 110, true)));
	cr_assert(!offer(block_end(0, 109, 120)), "of another block");
	cr_assert(!offer(block_end(1, 110, 120)), "of another thread");
	cr_assert(offer(block_end(0, 110, 120)));
	cr_assert(offer(block_end(0, 0, 130)), "the thread has ended");
	release(0);
	cr_assert_eq(held.n, 3);
	settle();
	release(0);
	cr_assert_eq(n_reported, 3);
	cr_assert(reported[0].time == 110 && !reported[0].is_end);
	cr_assert(reported[1].time == 120 && reported[2].time == 130 && reported[2].is_end);
}

/* A file may never be read. */
Test(held, wait_no_longer_than_they_may)
{
	cr_assert(offer(sample(0, 110, true)));
	cr_assert(offer(block_end(0, 110, 115)));
	cr_assert(offer(sample(0, 120, true)));
	release(120);
	cr_assert(held.n == 1 && n_reported == 2 && held_oldest(&held) == 120);
	release(UINT64_MAX);
	cr_assert(held.n == 0 && n_reported == 3);
}

Test(held, take_no_more_memory_than_they_may)
{
	struct queued large = sample(0, 120, true);

	large.n_bytes = HELD_MAX - 50;
	cr_assert(offer(sample(0, 110, true)));
	cr_assert(offer(large));
	release(0);
	cr_assert(n_reported == 1 && reported[0].time == 110 && held.n_bytes == HELD_MAX - 50);
}

Test(held, stay_when_a_report_fails)
{
	cr_assert(offer(sample(0, 110, true)));
	cr_assert(offer(sample(0, 120, true)));
	report_err = -ENOSPC;
	cr_assert_eq(held_release(&held, &table, UINT64_MAX, report, NULL), -ENOSPC);
	cr_assert(n_reported == 1 && held.n == 1);
}
