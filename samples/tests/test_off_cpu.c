// SPDX-License-Identifier: Apache-2.0
/* Joining the stack of a thread that left its CPU with the record of its return. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "log/clock.h"
#include "samples/off_cpu.h"
#include "symbols/tests/some_names.h"

static const struct frame frames[] = { { .address = 0x5010 }, { .address = 0x5120 } };
static const __u64 kernel[] = { 1, 2, 3 };

static struct sample sample_of(pid_t tid, uint64_t time_ns)
{
	return (struct sample){ .tid = tid,
				.time_ns = time_ns,
				.user = frames,
				.n_user = 2,
				.kernel = kernel,
				.n_kernel = 3 };
}

static void add(struct off_cpu_intervals *intervals, pid_t tid, uint64_t time_ns)
{
	struct sample sample = sample_of(tid, time_ns);

	cr_assert(off_cpu_add(intervals, &sample, NULL) == 0);
}

TestSuite(intervals);

Test(intervals, keeps_a_copy_until_it_is_taken)
{
	struct off_cpu_intervals intervals = { 0 };
	struct owned_sample *b;

	add(&intervals, 7, 100);
	add(&intervals, 8, 200);
	b = off_cpu_take(&intervals, 7, 100);
	cr_assert(b && b->sample.tid == 7);
	cr_assert(b->sample.user != frames && b->sample.user[1].address == 0x5120);
	cr_assert(b->sample.kernel != kernel && b->sample.kernel[2] == 3);
	owned_sample_free(b);
	cr_assert_null(off_cpu_take(&intervals, 7, 100));
	off_cpu_done(&intervals);
}

/* The end of one off-CPU interval is not used for another one of the same thread. */
Test(intervals, tells_blocks_of_a_thread_apart)
{
	struct off_cpu_intervals intervals = { 0 };
	struct owned_sample *b;

	add(&intervals, 7, 100);
	cr_assert_null(off_cpu_take(&intervals, 7, 99));
	add(&intervals, 7, 300);
	cr_assert_null(off_cpu_take(&intervals, 7, 100));
	b = off_cpu_take(&intervals, 7, 300);
	cr_assert(b);
	owned_sample_free(b);
	off_cpu_done(&intervals);
}

static pid_t tids_read[4];
static size_t n_read;
static int read_err;

static int note_read(void *arg, const struct sample *sample)
{
	cr_assert_eq(arg, &n_read);
	if (read_err == 0)
		tids_read[n_read++] = sample->tid;
	return read_err;
}

static void read_before(struct off_cpu_intervals *intervals, uint64_t before, size_t n)
{
	cr_assert_eq(off_cpu_read(intervals, before, note_read, &n_read), read_err);
	cr_assert_eq(n_read, n);
}

Test(intervals, are_read_once_when_they_are_long)
{
	struct off_cpu_intervals intervals = { 0 };

	n_read = 0;
	read_before(&intervals, 1000, 0);
	for (pid_t tid = 1; tid <= 5; tid++)
		add(&intervals, tid, 100 * (uint64_t)tid);
	read_before(&intervals, 100, 0);
	read_before(&intervals, 101, 1);
	off_cpu_forget(&intervals, 1, 100); /* read */
	off_cpu_forget(&intervals, 2, 200); /* the next */
	off_cpu_forget(&intervals, 4, 400);
	read_err = -EAGAIN;
	read_before(&intervals, 1000, 1);
	read_err = 0;
	read_before(&intervals, 1000, 3);
	cr_assert(tids_read[0] == 1 && tids_read[1] == 3 && tids_read[2] == 5);
	read_before(&intervals, 1000, 3);
	add(&intervals, 3, 600); /* again */
	read_before(&intervals, 601, 4);
	cr_assert_eq(tids_read[3], 3);
	add(&intervals, 9, 900);
	off_cpu_done(&intervals);
	cr_assert_null(intervals.unread);
}

Test(intervals, takes_stacks_without_frames)
{
	struct sample sample = { .tid = 7, .time_ns = 100 };
	struct off_cpu_intervals intervals = { 0 };
	struct owned_sample *b;

	cr_assert(off_cpu_add(&intervals, &sample, NULL) == 0);
	b = off_cpu_take(&intervals, 7, 100);
	cr_assert(b && b->sample.n_user == 0 && b->sample.n_kernel == 0);
	owned_sample_free(b);
}

/* Without names our own frames are not known, and nothing is removed. */
Test(intervals, leaves_kernel_stacks_alone_without_names)
{
	struct off_cpu_intervals intervals = { 0 };

	cr_assert_eq(off_cpu_own_frames(&intervals, kernel, 3), 0);
	intervals.n_own = 2;
	intervals.knows_own = true;
	cr_assert_eq(off_cpu_own_frames(&intervals, kernel, 3), 2);
	cr_assert_eq(off_cpu_own_frames(&intervals, kernel, 1), 1);
}

/* Frames inwards of the scheduler's function are ours: in all stacks as in the first. */
Test(intervals, knows_its_own_frames_by_the_scheduler)
{
	static const char names[] = "ffffffff81001000 T bpf_trace_run4\n"
				    "ffffffff81002000 t __schedule\n"
				    "ffffffff81003000 T schedule\n";
	const __u64 stack[] = { 0xffffffff81001010, 0xffffffff81002020, 0xffffffff81003030 };
	const __u64 other[] = { 0xffffffff81003030, 0xffffffff81003030, 0xffffffff81003030 };
	char path[] = "/tmp/dwarfprof-test-XXXXXX";
	int fd = mkstemp(path);
	struct off_cpu_intervals intervals = { 0 };
	struct kallsyms *kallsyms;

	cr_assert(write(fd, names, sizeof(names) - 1) == sizeof(names) - 1);
	cr_assert(kallsyms_new(some_names(), path, &kallsyms) == 0);
	intervals.kallsyms = kallsyms;
	cr_assert_eq(off_cpu_own_frames(&intervals, other, 3), 0);
	cr_assert_eq(off_cpu_own_frames(&intervals, stack, 3), 1);
	cr_assert_eq(off_cpu_own_frames(&intervals, other, 3), 1);
	kallsyms_free(kallsyms);
	close(fd);
	unlink(path);
}

static void add_held(struct off_cpu_intervals *intervals, pid_t pid, uint64_t time_ns,
		     struct module *module)
{
	struct frame held[] = { { .module = module }, { .address = 1 }, { .module = module } };
	struct sample sample = {
		.pid = pid, .tid = pid, .time_ns = time_ns, .user = held, .n_user = 3
	};

	cr_assert(off_cpu_add(intervals, &sample, NULL) == 0);
}

/* Modules are kept until the sample is in a report, and released however the interval ends. */
Test(intervals, hold_their_modules)
{
	struct off_cpu_intervals intervals = { 0 };
	struct module module = { 0 };
	uint64_t start = clock_now_ns();
	struct owned_sample *b;

	add_held(&intervals, 7, 100, &module);
	cr_assert_eq(module.n_holds, 2);
	add_held(&intervals, 7, 200, &module);
	cr_assert(module.n_holds == 2 && module.dropped_ns >= start, "in place of the other one");
	b = off_cpu_take(&intervals, 7, 200);
	cr_assert_eq(module.n_holds, 2, "for whoever has taken it");
	cr_assert_null(owned_sample_free(b));
	cr_assert_eq(module.n_holds, 0);
	add_held(&intervals, 7, 300, &module);
	off_cpu_forget(&intervals, 7, 299);
	cr_assert_eq(module.n_holds, 2);
	off_cpu_forget(&intervals, 7, 300);
	cr_assert_eq(module.n_holds, 0);
	add_held(&intervals, 7, 400, &module);
	off_cpu_done(&intervals);
	cr_assert_eq(module.n_holds, 0);
	cr_assert_null(owned_sample_free(NULL));
}

/* A PID that cannot exist: above PID_MAX_LIMIT (64 bits). */
#define NO_PID (4 * 1024 * 1024 + 1)
#define SECOND UINT64_C(1000000000)

/* The record of a thread's end is lost if a ring is full, and no thread has its TID again. */
Test(intervals, go_with_threads_that_have_ended)
{
	struct off_cpu_intervals intervals = { 0 };
	uint64_t now = 100 * SECOND;

	add_held(&intervals, NO_PID, 100, NULL);
	add_held(&intervals, getpid(), 100, NULL);
	off_cpu_update(&intervals, now, now);
	cr_assert_eq(HASH_COUNT(intervals.by_tid), 2);
	off_cpu_update(&intervals, now, now + 20 * SECOND);
	cr_assert_eq(HASH_COUNT(intervals.by_tid), 2, "the record may be on its way");
	off_cpu_update(&intervals, now + 1, now + 29 * SECOND);
	cr_assert_eq(HASH_COUNT(intervals.by_tid), 2, "it was looked for just before");
	off_cpu_update(&intervals, now + 1, now + 30 * SECOND);
	cr_assert_eq(HASH_COUNT(intervals.by_tid), 1);
	cr_assert_eq(intervals.by_tid->kept->sample.pid, getpid());
	off_cpu_done(&intervals);
}
