/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_THREAD_SNAPSHOT_H
#define DP_SAMPLES_THREAD_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/snapshot.h"
#include "report/sample.h"
#include "samples/return_check.h"
#include "samples/task_stacks.h"
#include "sandbox/process_memory.h"
#include "samples/unwinder.h"
#include "samples/thread_reader.h"

/* The state of a thread's stack. */
enum thread_snapshot_state {
	THREAD_MOVES,  /* at each look it ran or had run */
	THREAD_STILL,  /* it did not run while its stack was read */
	THREAD_ON_CPU, /* an interrupt took its stack */
	THREAD_GONE,   /* it has ended */
};

/* The stack of a thread. */
struct thread_stack {
	struct dp_thread thread;
	enum thread_snapshot_state state;
	bool seen; /* at the last reading of the threads */
	enum dp_outcome outcome;
	uint64_t fault_address;
	__u64 *user; /* owned, as are the kernel's: as in struct named_sample */
	size_t n_user;
	__u64 *kernel;
	size_t n_kernel;
	int kernel_error;
	struct dp_runtime *runtime; /* owned; of a language; NULL: none */
	struct task_stacks tasks;   /* of asyncio (thread_tasks.h) */
};

/*
 * Takes the stacks of a process's threads while it runs. A thread off the CPU does not move: its
 * registers were saved when it entered the kernel, and its stack is in memory. A second reading
 * proves that it has not run: otherwise it would have left a CPU once more.
 */
struct thread_snapshot {
	struct thread_reader *reader;
	struct unwinder *unwinder;
	const struct snapshot *snapshot; /* of the process; set after the initialization */
	bool kernel_only;
	bool has_runtimes; /* also read the frames of languages' runtimes; may be set later */
	struct process_memory *memory;
	struct fetchers *fetchers; /* who read it; NULL: this process does */
	pid_t thread; /* a running one, through which memory is read; set as the snapshot */
	struct return_check return_check;
	pid_t pid;
	struct thread_stack *stacks;
	size_t n, size;
	size_t next;      /* index of the thread that is expected next */
	bool finds_first; /* threads are being found for the first time */
	/* Both may be set after the initialization, which sets no limit. */
	size_t max_threads;
	uint64_t until_ns;              /* when to give up finding and taking */
	enum tasks_result tasks_result; /* of the process */
	struct task_budget tasks;
};

/* How often to try a thread that moves, for callers that need its stack now. */
#define THREAD_SNAPSHOT_TRIES 6

/* The caller keeps ownership of all parts; several may share `memory`. pid: 0: the kernel's threads. */
void thread_snapshot_init(struct thread_snapshot *threads, struct thread_reader *reader,
			  struct unwinder *unwinder, struct fetchers *fetchers,
			  struct process_memory *memory, bool kernel_only, pid_t pid);
void thread_snapshot_done(struct thread_snapshot *threads);

/*
 * Reads the threads and their states; tid: one of them, or 0: all. 0, -E2BIG if there are too many,
 * -ETIME if it took too long, or another errno.
 */
int thread_snapshot_find(struct thread_snapshot *threads, pid_t tid);

/*
 * Takes the stacks of all threads found, in the snapshot of their process; tries again, so often,
 * for those that move. 0, -EPERM if that is not permitted, -ETIME as above, or another errno.
 */
int thread_snapshot_take(struct thread_snapshot *threads, unsigned int tries);

/* The same again for one of them, which moves. */
int thread_snapshot_take_one(struct thread_snapshot *threads, struct thread_stack *stack);

/* Walks a stack that was copied elsewhere. 0 or -ENOMEM. */
int thread_snapshot_walk_copy(struct thread_snapshot *threads, struct thread_stack *stack,
			      const struct stack_copy *copy);
/* Sets the kernel part of a stack. 0 or -ENOMEM. */
int thread_snapshot_set_kernel(struct thread_stack *stack, const __u64 *addresses, size_t n,
			       int error);

/* The number of stacks in a state. */
size_t thread_snapshot_count(const struct thread_snapshot *threads,
			     enum thread_snapshot_state state);

/* Whether a thread is not known to have been off the CPU all the time between two readings of it. */
bool thread_has_run(const struct dp_thread *before, const struct dp_thread *now);

/*
 * Looks at all threads again: a thread that was still and has run since becomes THREAD_MOVES, one that has ended
 * THREAD_GONE. others: also adds new threads, as THREAD_MOVES. 0 or a negative errno.
 */
int thread_snapshot_check(struct thread_snapshot *threads, bool others);

/*
 * The sample that a stack makes; the event is the CPU's or off-CPU. `frames` has room for
 * DP_MAX_FRAMES and is what the sample points to, beside the stack's own memory.
 */
void thread_snapshot_sample(const struct thread_snapshot *threads, const struct thread_stack *stack,
			    uint64_t time_ns, struct frame *frames, struct sample *ret);

/* Describes a sample of the thread without frames: the caller sets these, and their outcome. */
void thread_snapshot_describe(const struct thread_stack *stack, uint64_t time_ns,
			      const struct frame *frames, struct sample *ret);

#endif
