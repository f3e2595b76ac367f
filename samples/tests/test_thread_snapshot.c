// SPDX-License-Identifier: Apache-2.0
/*
 * Which stacks count as unchanged: the linker redirects thread_snapshot.c's call to the function
 * below (--wrap).
 */
#include "samples/thread_snapshot.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <unistd.h>

#define N_THREADS 3
#define ALWAYS UINT_MAX

/* A thread as the kernel reports it at each reading. */
struct told {
	struct dp_thread thread;
	__u64 kernel[2];
	unsigned int n_reads;     /* so far */
	unsigned int leaves_cpu;  /* before each of so many reads, or */
	unsigned int runs;        /* it runs on, and is on no CPU when it is read, or */
	unsigned int is_on_cpu;   /* it is on one */
	unsigned int ends_before; /* this read, if not 0 */
};

static struct told told[N_THREADS];
static struct thread_snapshot threads;

int __wrap_thread_reader_read(struct thread_reader *reader, pid_t pid, pid_t tid,
			      int (*fn)(void *arg, const struct dp_thread *thread), void *arg);

int __wrap_thread_reader_read(struct thread_reader *reader, pid_t pid, pid_t tid,
			      int (*fn)(void *arg, const struct dp_thread *thread), void *arg)
{
	int err = 0;

	cr_assert_eq(pid, getpid());
	for (int i = 0; err == 0 && i < N_THREADS; i++) {
		struct told *t = &told[i];

		if (tid != 0 && t->thread.tid != (__u32)tid)
			continue;
		t->n_reads++;
		if (t->ends_before > 0 && t->n_reads >= t->ends_before)
			continue;
		t->thread.switches += t->n_reads <= t->leaves_cpu;
		t->thread.ran_ns += t->n_reads <= t->runs;
		t->thread.flags = t->n_reads <= t->is_on_cpu ? DP_THREAD_ON_CPU : 0;
		err = fn(arg, &t->thread);
	}
	return err;
}

static void begin(void)
{
	for (int i = 0; i < N_THREADS; i++) {
		told[i].thread = (struct dp_thread){
			.pid = (__u32)getpid(), .tid = 1000 + (__u32)i, .n_kernel = 2, .switches = 7
		};
		told[i].kernel[0] = 0xffffffff81000000 + (__u64)i;
		told[i].kernel[1] = 0xffffffff82000000;
	}
	thread_snapshot_init(&threads, NULL, NULL, NULL, NULL, true, getpid());
	threads.thread = getpid();
}

static void end(void)
{
	thread_snapshot_done(&threads);
}

TestSuite(threads, .init = begin, .fini = end);

static void take(void)
{
	cr_assert_eq(thread_snapshot_find(&threads, 0), 0);
	cr_assert_eq(threads.n, N_THREADS);
	cr_assert_eq(thread_snapshot_take(&threads, THREAD_SNAPSHOT_TRIES), 0);
}

/* Most threads sleep. They are read twice, with the stack in between. */
Test(threads, believes_what_did_not_move)
{
	take();
	cr_assert_eq(thread_snapshot_count(&threads, THREAD_STILL), N_THREADS);
	for (size_t i = 0; i < N_THREADS; i++) {
		const struct thread_stack *s = &threads.stacks[i];

		cr_assert_eq(told[i].n_reads, 2);
		cr_assert(s->thread.tid == told[i].thread.tid && s->outcome == DP_KERNEL_ONLY);
		cr_assert(s->n_kernel == 2 && s->kernel[0] == told[i].kernel[0] &&
			  s->kernel[1] == told[i].kernel[1]);
	}
}

/* A thread that has run since may have another stack: what was read is a mixture. */
Test(threads, tries_again_who_has_run)
{
	told[0].leaves_cpu = 3;
	told[1].runs = 5;
	told[2].is_on_cpu = 3;
	take();
	cr_assert_eq(thread_snapshot_count(&threads, THREAD_STILL), N_THREADS);
	for (size_t i = 0; i < N_THREADS; i++)
		cr_assert_gt(told[i].n_reads, 3, "thread %zu", i);
	cr_assert_gt(told[1].n_reads, 5);
}

Test(threads, gives_up_who_never_rests)
{
	told[0].leaves_cpu = ALWAYS;
	told[1].runs = ALWAYS;
	told[2].is_on_cpu = ALWAYS;
	take();
	cr_assert_eq(thread_snapshot_count(&threads, THREAD_MOVES), N_THREADS);
}

Test(threads, knows_who_has_ended)
{
	told[0].ends_before = 2;
	told[2].leaves_cpu = 3;
	told[2].ends_before = 4;
	take();
	cr_assert(threads.stacks[0].state == THREAD_GONE && threads.stacks[2].state == THREAD_GONE);
	cr_assert_eq(threads.stacks[1].state, THREAD_STILL);
}

/* Whoever has run since has another stack by now. */
Test(threads, knows_who_has_run_since)
{
	take();
	told[0].thread.switches++;
	told[1].ends_before = 3;
	cr_assert_eq(thread_snapshot_check(&threads, false), 0);
	cr_assert_eq(threads.stacks[0].state, THREAD_MOVES);
	cr_assert_eq(threads.stacks[1].state, THREAD_GONE);
	cr_assert_eq(threads.stacks[2].state, THREAD_STILL);
	told[0].kernel[0] = 0xffffffff83000000;
	cr_assert_eq(thread_snapshot_take_one(&threads, &threads.stacks[0]), 0);
	cr_assert_eq(threads.stacks[0].state, THREAD_STILL);
	cr_assert_eq(threads.stacks[0].kernel[0], told[0].kernel[0]);
}

Test(threads, finds_new_ones_if_it_is_to)
{
	__u32 last = told[2].thread.tid;

	take();
	told[2].thread.tid = 2000;
	cr_assert_eq(thread_snapshot_check(&threads, false), 0);
	cr_assert_eq(threads.n, N_THREADS);
	cr_assert_eq(thread_snapshot_check(&threads, true), 0);
	cr_assert_eq(threads.n, N_THREADS + 1);
	cr_assert(threads.stacks[2].thread.tid == last && threads.stacks[2].state == THREAD_GONE);
	cr_assert(threads.stacks[3].thread.tid == 2000 && threads.stacks[3].state == THREAD_MOVES);
	cr_assert_eq(thread_snapshot_take_one(&threads, &threads.stacks[3]), 0);
	cr_assert_eq(threads.stacks[3].state, THREAD_STILL);
}

/* The binaries of its stacks must live as long as reports do: the store asks whether they were sampled. */
Test(threads, says_whose_names_reports_need)
{
	char path[] = "/program";
	struct module module = { .path = path };
	struct binary sampled = { .module = &module }, other = { .module = &module };
	struct mapping mappings[] = {
		{ .start = 0x1000, .end = 0x2000, .bias = 0x1000, .binary = &other },
		{ .start = 0x4000, .end = 0x5000, .bias = 0x4000, .binary = &sampled },
	};
	const struct snapshot snapshot = { .n_mappings = 2, .mappings = mappings };
	__u64 user[] = { 0x4010 };
	const struct thread_stack stack = { .user = user, .n_user = 1 };
	struct frame frames[1];
	struct sample sample;

	threads.snapshot = &snapshot;
	thread_snapshot_sample(&threads, &stack, 1, frames, &sample);
	cr_assert(frames[0].module == &module && frames[0].offset == 0x10);
	cr_assert(sampled.is_sampled && !other.is_sampled);
}

/* Only of the last frame, which could not be left. */
Test(threads, say_that_a_file_could_not_be_read)
{
	struct mapping mappings[] = {
		{ .start = 0x1000, .end = 0x2000 },
		{ .start = 0x4000, .end = 0x5000, .is_unread = true },
	};
	const struct snapshot snapshot = { .n_mappings = 2, .mappings = mappings };
	__u64 user[] = { 0x4010, 0x1010 };
	struct thread_stack stack = { .user = user, .n_user = 1, .outcome = DP_NO_TABLE };
	struct frame frames[2];
	struct sample sample;

	threads.snapshot = &snapshot;
	thread_snapshot_sample(&threads, &stack, 1, frames, &sample);
	cr_assert_eq(sample.outcome, DP_FILE_NOT_READABLE);
	stack.outcome = DP_NO_RULE;
	thread_snapshot_sample(&threads, &stack, 1, frames, &sample);
	cr_assert_eq(sample.outcome, DP_NO_RULE);
	stack.outcome = DP_NO_TABLE;
	stack.n_user = 2;
	thread_snapshot_sample(&threads, &stack, 1, frames, &sample);
	cr_assert_eq(sample.outcome, DP_NO_TABLE);
}
