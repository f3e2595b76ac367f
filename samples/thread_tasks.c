// SPDX-License-Identifier: Apache-2.0
#include "samples/thread_tasks.h"

#include <errno.h>
#include <poll.h>

#include "limits/limits.h"
#include "log/clock.h"

/* Between attempts for a thread that runs. */
#define PAUSE_MS 1

/* A process's memory, which cannot be read for longer than that. */
struct bounded {
	struct process_memory *memory;
	uint64_t until;
};

static int read_bounded(void *arg, void *ret, size_t size, uint64_t address)
{
	const struct bounded *b = arg;

	if (clock_now_ns() >= b->until)
		return -ETIME;
	return process_memory_read(b->memory, ret, size, address);
}

/* A thread as it is now. */
struct look {
	struct dp_thread thread;
	bool is_there;
};

static int on_thread(void *arg, const struct dp_thread *thread)
{
	*(struct look *)arg = (struct look){ *thread, true };
	return 0;
}

static int look_at(const struct thread_snapshot *t, pid_t tid, struct look *ret)
{
	ret->is_there = false;
	return thread_reader_read(t->reader, t->pid, tid, on_thread, ret);
}

/* One attempt. 1: the thread runs, or ran. */
static int attempt(struct thread_snapshot *t, struct thread_stack *s,
		   struct python_tasks_place *place, uint64_t until)
{
	struct bounded bounded = { t->memory, until };
	const struct runtime_memory memory = { read_bounded, &bounded, NULL };
	const struct task_budget before = t->tasks;
	struct look first, last;
	int err = look_at(t, (pid_t)s->thread.tid, &first);

	if (err < 0 || !first.is_there)
		return err;
	if (first.thread.flags & DP_THREAD_ON_CPU)
		return 1;
	place->thread = first.thread.thread_base;
	process_memory_init(t->memory, t->fetchers, t->thread);
	err = task_stacks_read(&s->tasks, place, &memory, &t->tasks);
	if (err == 0)
		err = look_at(t, (pid_t)s->thread.tid, &last);
	if (err < 0 || (last.is_there && !thread_has_run(&first.thread, &last.thread)))
		return err;
	/* The time remains spent. */
	t->tasks = before;
	task_stacks_drop(&s->tasks, TASKS_READ);
	return last.is_there;
}

static int read_thread(struct thread_snapshot *t, struct thread_stack *s,
		       struct python_tasks_place *place, uint64_t until)
{
	int err = 1;

	for (int i = 0; err == 1 && i < THREAD_SNAPSHOT_TRIES && clock_now_ns() < until; i++) {
		if (i > 1)
			poll(NULL, 0, PAUSE_MS);
		err = attempt(t, s, place, until);
	}
	if (err != 1)
		return err;
	task_stacks_drop(&s->tasks, TASKS_RAN);
	return 0;
}

/* Threads that pretend to be one have its tasks once. */
static bool is_second(const struct thread_snapshot *t, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (t->stacks[i].tasks.n > 0 &&
		    t->stacks[i].thread.thread_base == t->stacks[number].thread.thread_base)
			return true;
	return false;
}

static bool is_spent(const struct thread_snapshot *t, uint64_t until)
{
	return clock_now_ns() >= until || t->tasks.n_tasks >= PYTHON_TASKS_MAX ||
	       t->tasks.n_frames >= PYTHON_TASKS_FRAMES;
}

int thread_tasks_read(struct thread_snapshot *t, uint64_t until_ns)
{
	uint64_t until = clock_now_ns() + PYTHON_TASKS_NS;
	struct python_tasks_place place;
	int err = 0;

	until = until < until_ns ? until : until_ns;
	t->tasks_result = task_stacks_find(t->snapshot, &place);
	if (t->tasks_result != TASKS_READ)
		return 0;
	for (size_t i = 0; err == 0 && i < t->n; i++) {
		struct thread_stack *s = &t->stacks[i];

		if (s->state == THREAD_GONE)
			continue;
		if (is_spent(t, until)) {
			t->tasks_result = TASKS_NO_MORE;
			break;
		}
		err = read_thread(t, s, &place, until);
		if (err == 0 && s->tasks.n > 0 && is_second(t, i))
			task_stacks_drop(&s->tasks, TASKS_READ);
	}
	return err;
}
