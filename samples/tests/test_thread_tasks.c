// SPDX-License-Identifier: Apache-2.0
/* Whose tasks are read, and how many. What the kernel and asyncio tell is the tests' own. */
#include "samples/thread_tasks.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <unistd.h>

#include "limits/limits.h"
#include "log/clock.h"

#define N_THREADS 3
#define ALWAYS 1000
/* The first one's; that of others is so many more. */
#define BASE 0x1000

static struct thread_told {
	struct dp_thread thread;
	int n_reads, n_tries;
	int runs;      /* between so many readings */
	int is_on_cpu; /* at so many */
	int result;    /* of python_tasks_each(), after its tasks */
	size_t n_stacks, n_frames;
} told[N_THREADS];

static struct python_task_stack stack;
static struct dp_runtime_image image = { .names = { .version = 0x30e } };
static struct table table = { .runtime = &image, .runtime_kind = DP_RUNTIME_PYTHON };
static struct binary python = { .table = &table }, asyncio = { .elf.asyncio = 8 };
static struct mapping mappings[] = { { .binary = &python }, { .binary = &asyncio } };
static struct snapshot snapshot;
static struct thread_stack stacks[N_THREADS];
static struct process_memory bytes;
static struct thread_snapshot threads;
static bool reads_on; /* memory, as long as that can be read */

int __wrap_thread_reader_read(struct thread_reader *reader, pid_t pid, pid_t tid,
			      int (*fn)(void *arg, const struct dp_thread *thread), void *arg);
int __wrap_python_tasks_each(const struct python_tasks_place *place,
			     const struct runtime_memory *memory, size_t *n_tasks,
			     python_task_fn fn, void *arg);

int __wrap_thread_reader_read(struct thread_reader *reader, pid_t pid, pid_t tid,
			      int (*fn)(void *arg, const struct dp_thread *thread), void *arg)
{
	for (int i = 0; i < N_THREADS; i++) {
		struct thread_told *t = &told[i];

		if (t->thread.tid != (__u32)tid)
			continue;
		t->thread.switches += t->n_reads < t->runs;
		t->thread.flags = t->n_reads++ < t->is_on_cpu ? DP_THREAD_ON_CPU : 0;
		return fn(arg, &t->thread);
	}
	return 0;
}

int __wrap_python_tasks_each(const struct python_tasks_place *place,
			     const struct runtime_memory *memory, size_t *n_tasks,
			     python_task_fn fn, void *arg)
{
	struct thread_told *t = &told[(place->thread - BASE) % N_THREADS];
	int err = 0;

	t->n_tries++;
	stack.n = t->n_frames;
	for (size_t i = 0; err == 0 && i < t->n_stacks; i++) {
		++*n_tasks;
		err = fn(arg, &stack);
	}
	while (err == 0 && reads_on)
		err = memory->read(memory->arg, &(uint64_t){ 0 }, sizeof(uint64_t),
				   (uint64_t)&told);
	return err == 0 ? t->result : err;
}

static void begin(void)
{
	snapshot = (struct snapshot){ .n_mappings = 2, .mappings = mappings };
	thread_snapshot_init(&threads, NULL, NULL, NULL, &bytes, false, getpid());
	threads.thread = getpid();
	threads.snapshot = &snapshot;
	threads.stacks = stacks;
	threads.n = N_THREADS;
	for (__u32 i = 0; i < N_THREADS; i++) {
		told[i].thread = (struct dp_thread){ .tid = 100 + i, .thread_base = BASE + i };
		told[i].n_stacks = 2;
		told[i].n_frames = 3;
		stacks[i].thread = told[i].thread;
		stacks[i].state = THREAD_STILL;
	}
}

static void end(void)
{
	for (size_t i = 0; i < N_THREADS; i++)
		task_stacks_done(&stacks[i].tasks);
}

TestSuite(thread_tasks, .init = begin, .fini = end);

static void read_tasks(void)
{
	cr_assert_eq(thread_tasks_read(&threads, TIME_NEVER), 0);
}

Test(thread_tasks, are_read_while_their_thread_does_not_run)
{
	told[0].runs = 3;
	told[1].is_on_cpu = 2;
	read_tasks();
	cr_expect_eq(threads.tasks_result, TASKS_READ);
	for (size_t i = 0; i < N_THREADS; i++) {
		cr_expect_eq(stacks[i].tasks.result, TASKS_READ);
		cr_expect_eq(stacks[i].tasks.n, 2);
		cr_expect_eq(stacks[i].tasks.n_frames, 6);
	}
	cr_expect_eq(told[0].n_tries, 2);
	cr_expect_eq(told[1].n_tries, 1);
	cr_expect_eq(threads.tasks.n_tasks, 6);
	cr_expect_eq(threads.tasks.n_frames, 18);
}

/* Its stack was read before. */
Test(thread_tasks, of_a_thread_that_runs_are_missing_alone)
{
	told[0].runs = ALWAYS;
	told[1].is_on_cpu = ALWAYS;
	read_tasks();
	for (size_t i = 0; i < 2; i++) {
		cr_expect_eq(stacks[i].state, THREAD_STILL);
		cr_expect_eq(stacks[i].tasks.result, TASKS_RAN);
		cr_expect_eq(stacks[i].tasks.n, 0);
	}
	cr_expect_eq(told[0].n_tries, THREAD_SNAPSHOT_TRIES);
	cr_expect_eq(told[1].n_tries, 0);
	cr_expect_eq(stacks[2].tasks.n, 2);
}

Test(thread_tasks, of_threads_that_have_ended_or_are_one_are_not_read)
{
	stacks[0].state = THREAD_GONE;
	told[2].thread.thread_base = stacks[2].thread.thread_base = BASE + 1;
	read_tasks();
	cr_expect_eq(told[0].n_tries, 0);
	cr_expect_eq(stacks[1].tasks.n, 2);
	cr_expect_eq(stacks[2].tasks.n, 0);
	cr_expect_eq(stacks[2].tasks.result, TASKS_READ);
}

Test(thread_tasks, of_a_process_have_so_many_frames)
{
	for (int i = 0; i < N_THREADS; i++) {
		told[i].n_frames = PYTHON_TASK_FRAMES;
		told[i].n_stacks = PYTHON_TASKS_FRAMES / PYTHON_TASK_FRAMES - 1;
	}
	read_tasks();
	cr_expect_eq(stacks[0].tasks.result, TASKS_READ);
	cr_expect_eq(stacks[0].tasks.n, told[0].n_stacks);
	cr_expect_eq(stacks[1].tasks.result, TASKS_PART);
	cr_expect_eq(stacks[1].tasks.n, 1);
	cr_expect_eq(threads.tasks_result, TASKS_NO_MORE);
	cr_expect_eq(told[2].n_tries, 0);
	cr_expect_eq(threads.tasks.n_frames, PYTHON_TASKS_FRAMES);
}

Test(thread_tasks, of_a_process_are_so_many)
{
	told[0].n_stacks = PYTHON_TASKS_MAX;
	told[0].n_frames = 1;
	read_tasks();
	cr_expect_eq(stacks[0].tasks.n, PYTHON_TASKS_MAX);
	cr_expect_eq(threads.tasks_result, TASKS_NO_MORE);
	cr_expect_eq(told[1].n_tries, 0);
}

Test(thread_tasks, have_so_much_time, .timeout = 30)
{
	reads_on = true;
	cr_assert_eq(thread_tasks_read(&threads, clock_now_ns() + UINT64_C(1000000000)), 0);
	reads_on = false;
	cr_expect_eq(stacks[0].tasks.result, TASKS_PART);
	cr_expect_eq(stacks[0].tasks.err, -ETIME);
	cr_expect_eq(stacks[0].tasks.n, 2);
	cr_expect_eq(threads.tasks_result, TASKS_NO_MORE);
	cr_expect_eq(told[1].n_tries, 0);
	cr_assert_eq(thread_tasks_read(&threads, clock_now_ns()), 0);
	cr_expect_eq(threads.tasks_result, TASKS_NO_MORE);
	cr_expect_eq(told[0].n_tries, 1);
}

Test(thread_tasks, of_a_process_have_two_seconds, .timeout = 30)
{
	reads_on = true;
	read_tasks();
	reads_on = false;
	cr_expect_eq(threads.tasks_result, TASKS_NO_MORE);
}

Test(thread_tasks, that_are_not_found_have_a_reason)
{
	told[0].result = -ENOTSUP;
	told[1].result = -E2BIG;
	told[2].result = -ESRCH;
	told[0].n_stacks = told[1].n_stacks = told[2].n_stacks = 0;
	read_tasks();
	cr_expect_eq(stacks[0].tasks.result, TASKS_UNKNOWN);
	cr_expect_eq(stacks[1].tasks.result, TASKS_FAR);
	cr_expect_eq(stacks[2].tasks.result, TASKS_READ);
	told[0].result = -EFAULT;
	told[1].result = 1;
	read_tasks();
	cr_expect(stacks[0].tasks.result == TASKS_PART && stacks[0].tasks.err == -EFAULT);
	cr_expect(stacks[1].tasks.result == TASKS_PART && stacks[1].tasks.err == 0);
}

Test(thread_tasks, of_other_programs_are_not_looked_for)
{
	asyncio.elf.asyncio = 0;
	read_tasks();
	cr_expect_eq(threads.tasks_result, TASKS_NO_ASYNCIO);
	asyncio.elf.asyncio = 8;
	image.names.version = 0x30d;
	read_tasks();
	cr_expect_eq(threads.tasks_result, TASKS_OLD_PYTHON);
	image.names.version = 0x30e;
	snapshot.n_mappings = 0;
	read_tasks();
	cr_expect_eq(threads.tasks_result, TASKS_NO_PYTHON);
	cr_expect_eq(told[0].n_reads, 0);
}
