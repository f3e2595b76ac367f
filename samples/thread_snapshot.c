// SPDX-License-Identifier: Apache-2.0
#include "samples/thread_snapshot.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "log/clock.h"

/* Between attempts for a thread that moves. */
#define PAUSE_MS 1

void thread_snapshot_init(struct thread_snapshot *t, struct thread_reader *reader,
			  struct unwinder *unwinder, struct fetchers *fetchers,
			  struct process_memory *memory, bool kernel_only, pid_t pid)
{
	*t = (struct thread_snapshot){ .reader = reader,
				       .unwinder = unwinder,
				       .fetchers = fetchers,
				       .memory = memory,
				       .kernel_only = kernel_only,
				       .pid = pid,
				       .max_threads = SIZE_MAX,
				       .until_ns = TIME_NEVER };
	return_check_init(&t->return_check, unwinder, fetchers);
}

void thread_snapshot_done(struct thread_snapshot *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->stacks[i].user);
		free(t->stacks[i].kernel);
		free(t->stacks[i].runtime);
		task_stacks_done(&t->stacks[i].tasks);
	}
	free(t->stacks);
	t->stacks = NULL;
	t->n = t->size = 0;
}

static int copy_addresses(const __u64 *from, size_t n, __u64 **to, size_t *to_n)
{
	__u64 *copy = reallocarray(*to, n ? n : 1, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	if (n > 0)
		memcpy(copy, from, n * sizeof(*copy));
	*to = copy;
	*to_n = n;
	return 0;
}

int thread_snapshot_set_kernel(struct thread_stack *s, const __u64 *addresses, size_t n, int error)
{
	s->kernel_error = error;
	return copy_addresses(addresses, n, &s->kernel, &s->n_kernel);
}

static int set_user(struct thread_snapshot *t, struct thread_stack *s, struct unwinder_result *walk)
{
	int err = copy_addresses(walk->frames, walk->n_frames, &s->user, &s->n_user);

	if (err < 0)
		return err;
	return_check_cut(&t->return_check, t->snapshot, t->thread, walk, s->user);
	s->n_user = walk->n_frames;
	s->outcome = walk->outcome;
	s->fault_address = walk->outcome == DP_READ_FAULT ? walk->fault_address : 0;
	return 0;
}

/* The kernel lists them in the same order each time. */
static struct thread_stack *find_stack(struct thread_snapshot *t, pid_t tid)
{
	for (size_t i = 0; i < t->n; i++) {
		size_t at = (t->next + i) % t->n;

		if (t->stacks[at].thread.tid == (__u32)tid) {
			t->next = at + 1;
			return &t->stacks[at];
		}
	}
	return NULL;
}

static bool is_late(const struct thread_snapshot *t)
{
	return t->until_ns != TIME_NEVER && clock_now_ns() >= t->until_ns;
}

static int on_found(void *arg, const struct dp_thread *thread)
{
	struct thread_snapshot *t = arg;
	struct thread_stack *s = t->finds_first ? NULL : find_stack(t, (pid_t)thread->tid);

	if (is_late(t))
		return -ETIME;
	if (!s) {
		if (t->n >= t->max_threads)
			return -E2BIG;
		if (array_reserve(t->stacks, t->n, t->size) < 0)
			return -ENOMEM;
		s = &t->stacks[t->n++];
		*s = (struct thread_stack){ 0 };
	}
	s->thread = *thread;
	s->seen = true;
	return thread_snapshot_set_kernel(s, (const __u64 *)(thread + 1), thread->n_kernel,
					  thread->kernel_error);
}

bool thread_has_run(const struct dp_thread *before, const struct dp_thread *now)
{
	return ((before->flags | now->flags) & DP_THREAD_ON_CPU) ||
	       before->switches != now->switches || before->ran_ns != now->ran_ns;
}

/* Second reading: has it run since? */
static int on_found_again(void *arg, const struct dp_thread *thread)
{
	struct thread_stack *s = find_stack(arg, (pid_t)thread->tid);

	if (!s)
		return 0;
	s->seen = true;
	if (s->state == THREAD_MOVES && !thread_has_run(&s->thread, thread))
		s->state = THREAD_STILL;
	return 0;
}

int thread_snapshot_find(struct thread_snapshot *t, pid_t tid)
{
	/* To search for each of many that are all new would take time by their square. */
	t->finds_first = t->n == 0;
	return thread_reader_read(t->reader, t->pid, tid, on_found, t);
}

/*
 * True if the program counter is behind a system call instruction. execve() and signal delivery set
 * another one.
 */
static bool is_in_syscall(struct thread_snapshot *t, const struct dp_thread *thread)
{
	uint64_t instruction = 0;

	return (thread->flags & DP_THREAD_IN_SYSCALL) &&
	       process_memory_read(t->memory, &instruction, DP_SYSCALL_SIZE,
				   thread->regs.reg[DP_REG_PC] - DP_SYSCALL_SIZE) == 0 &&
	       instruction == DP_SYSCALL_CODE;
}

/* Keeps the frames of a runtime of the thread that was just walked. */
static int set_runtime(struct thread_snapshot *t, struct thread_stack *s,
		       struct unwinder_result *walk)
{
	const struct dp_runtime *runtime = unwinder_runtime(t->unwinder, t->snapshot, walk);
	size_t size;

	free(s->runtime);
	s->runtime = NULL;
	if (!runtime)
		return 0;
	size = sizeof(*runtime) + runtime->n * sizeof(struct dp_runtime_frame);
	s->runtime = malloc(size);
	if (!s->runtime)
		return -ENOMEM;
	memcpy(s->runtime, runtime, size);
	return 0;
}

/* Walks a stack in the memory of its process. */
static int walk(struct thread_snapshot *t, struct thread_stack *s)
{
	const struct dp_thread *thread = &s->thread;
	struct unwinder_result result = { .outcome = DP_KERNEL_ONLY };
	int err;

	if (thread->flags & DP_THREAD_NO_USER)
		result.outcome = DP_NO_USER_STACK;
	else if (t->kernel_only)
		result.outcome = DP_KERNEL_ONLY;
	else if (thread->flags & DP_THREAD_COMPAT)
		result.outcome = DP_COMPAT_MODE;
	else {
		process_memory_init(t->memory, t->fetchers, t->thread);
		result = unwinder_walk_memory(t->unwinder, &thread->regs, thread->thread_base,
					      is_in_syscall(t, thread), process_memory_read,
					      t->memory, t->snapshot->id, t->snapshot->cell);
		if (t->memory->err < 0)
			return t->memory->err;
		err = t->has_runtimes ? set_runtime(t, s, &result) : 0;
		if (err < 0)
			return err;
	}
	return set_user(t, s, &result);
}

/* The copied stack, and the code from memory: walks check for calls there. */
struct copied {
	struct thread_snapshot *threads;
	const struct stack_copy *copy;
};

static int read_copied(void *memory, void *ret, size_t size, uint64_t address)
{
	const struct copied *c = memory;
	int err = stack_copy_read(c->copy, ret, size, address);

	if (err < 0 && snapshot_has_code(c->threads->snapshot, address))
		return process_memory_read(c->threads->memory, ret, size, address);
	return err;
}

int thread_snapshot_walk_copy(struct thread_snapshot *t, struct thread_stack *s,
			      const struct stack_copy *copy)
{
	struct copied copied = { t, copy };
	struct unwinder_result result;

	process_memory_init(t->memory, t->fetchers, t->thread);
	result = unwinder_walk_memory(t->unwinder, &copy->regs, 0, copy->in_syscall, read_copied,
				      &copied, t->snapshot->id, t->snapshot->cell);
	return set_user(t, s, &result);
}

static bool may_be_walked(const struct thread_stack *s)
{
	return s->state == THREAD_MOVES && !(s->thread.flags & DP_THREAD_ON_CPU);
}

static void mark_gone(struct thread_stack *s)
{
	if (!s->seen && s->state == THREAD_MOVES)
		s->state = THREAD_GONE;
}

/* All threads in one pass: in most processes most threads sleep. */
static int take_all(struct thread_snapshot *t)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < t->n; i++) {
		if (is_late(t))
			err = -ETIME;
		else if (may_be_walked(&t->stacks[i]))
			err = walk(t, &t->stacks[i]);
	}
	for (size_t i = 0; i < t->n; i++)
		t->stacks[i].seen = false;
	if (err == 0)
		err = thread_reader_read(t->reader, t->pid,
					 t->n == 1 ? (pid_t)t->stacks[0].thread.tid : 0,
					 on_found_again, t);
	for (size_t i = 0; err == 0 && i < t->n; i++)
		mark_gone(&t->stacks[i]);
	return err;
}

/* A thread that moves, alone: that takes much less time. */
int thread_snapshot_take_one(struct thread_snapshot *t, struct thread_stack *s)
{
	pid_t tid = (pid_t)s->thread.tid;
	int err;

	s->seen = false;
	err = thread_snapshot_find(t, tid);
	if (err < 0 || !s->seen) {
		mark_gone(s);
		return err;
	}
	if (!may_be_walked(s))
		return 0;
	err = walk(t, s);
	if (err == 0)
		err = thread_reader_read(t->reader, t->pid, tid, on_found_again, t);
	return err;
}

int thread_snapshot_take(struct thread_snapshot *t, unsigned int tries)
{
	int err = take_all(t);

	for (unsigned int try = 0;
	     err == 0 && try < tries && thread_snapshot_count(t, THREAD_MOVES) > 0; try++) {
		if (try > 0)
			poll(NULL, 0, PAUSE_MS);
		for (size_t i = 0; err == 0 && i < t->n; i++)
			if (t->stacks[i].state == THREAD_MOVES)
				err = thread_snapshot_take_one(t, &t->stacks[i]);
	}
	return err;
}

size_t thread_snapshot_count(const struct thread_snapshot *t, enum thread_snapshot_state state)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += t->stacks[i].state == state;
	return n;
}

struct check {
	struct thread_snapshot *threads;
	bool others;
};

static int on_checked(void *arg, const struct dp_thread *thread)
{
	const struct check *check = arg;
	struct thread_snapshot *t = check->threads;
	struct thread_stack *s = find_stack(t, (pid_t)thread->tid);

	if (!s)
		return check->others && t->n < t->max_threads ? on_found(t, thread) : 0;
	s->seen = true;
	if (s->state == THREAD_STILL && thread_has_run(&s->thread, thread))
		s->state = THREAD_MOVES;
	if (s->state == THREAD_MOVES)
		s->thread = *thread;
	return 0;
}

int thread_snapshot_check(struct thread_snapshot *t, bool others)
{
	struct check check = { t, others };
	int err;

	for (size_t i = 0; i < t->n; i++)
		t->stacks[i].seen = false;
	err = thread_reader_read(t->reader, t->pid, 0, on_checked, &check);
	for (size_t i = 0; err == 0 && i < t->n; i++)
		if (!t->stacks[i].seen)
			t->stacks[i].state = THREAD_GONE;
	return err;
}

/* Resolves frames to binaries; a caller's code is before its return address. Only the last one could not be left. */
static size_t resolve_frames(const struct snapshot *snapshot, const struct thread_stack *s,
			     uint64_t time_ns, struct frame *frames, enum dp_outcome *outcome)
{
	size_t n = s->n_user < DP_MAX_FRAMES ? s->n_user : DP_MAX_FRAMES;

	for (size_t i = 0; i < n; i++) {
		struct frame *f = &frames[i];
		const struct mapping *m;

		*f = (struct frame){ .address = DP_FRAME_ADDRESS(s->user[i]),
				     .method = (enum dp_method)DP_FRAME_METHOD(s->user[i]) };
		m = snapshot_find(snapshot, f->address - !frame_is_exact(f));
		if (i + 1 == n && *outcome == DP_NO_TABLE && m && m->is_unread)
			*outcome = DP_FILE_NOT_READABLE;
		if (m && m->jitted) {
			jitted_meet(m->jitted);
			f->module = m->jitted->module;
			frame_locate(f, time_ns);
		}
		if (!m || !m->binary || m->jitted)
			continue;
		mapping_use(m, snapshot->pid);
		f->module = m->binary->module;
		f->offset = f->address - m->bias;
	}
	return n;
}

void thread_snapshot_describe(const struct thread_stack *s, uint64_t time_ns,
			      const struct frame *frames, struct sample *ret)
{
	*ret = (struct sample){
		.time_ns = time_ns,
		.event = s->state == THREAD_ON_CPU ? DP_EVENT_CPU : DP_EVENT_OFF_CPU,
		.state = (enum dp_state)s->thread.state,
		.weight = 1,
		.cpu = s->thread.cpu,
		.pid = (pid_t)s->thread.pid,
		.tid = (pid_t)s->thread.tid,
		.user = frames,
	};
	memcpy(ret->comm, s->thread.comm, sizeof(s->thread.comm));
	memcpy(ret->thread_name, s->thread.thread_name, sizeof(s->thread.thread_name));
}

void thread_snapshot_sample(const struct thread_snapshot *t, const struct thread_stack *s,
			    uint64_t time_ns, struct frame *frames, struct sample *ret)
{
	thread_snapshot_describe(s, time_ns, frames, ret);
	ret->outcome = s->outcome;
	ret->fault_address = s->fault_address;
	ret->kernel = s->kernel;
	ret->n_kernel = s->n_kernel;
	ret->kernel_error = s->kernel_error;
	ret->n_user = resolve_frames(t->snapshot, s, time_ns, frames, &ret->outcome);
}
