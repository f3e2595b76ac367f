/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_TAKEN_H
#define DP_SAMPLES_TAKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/space.h"
#include "samples/called.h"
#include "samples/process_memory.h"
#include "samples/unwinder.h"
#include "samples/thread_reader.h"

/* How far it has come with a thread. */
enum taken_state {
	TAKEN_MOVES,  /* whenever it was looked at, it ran, or had run */
	TAKEN_STILL,  /* it did not run while its stack was read */
	TAKEN_ON_CPU, /* its stack was taken by an interrupt */
	TAKEN_GONE,   /* it has ended meanwhile */
};

/* The stack of a thread. */
struct taken_stack {
	struct dp_thread thread;
	enum taken_state state;
	bool seen; /* when the threads were last read */
	enum dp_outcome outcome;
	uint64_t fault_address;
	__u64 *user; /* owned, as are the kernel's: as in struct named_sample */
	size_t n_user;
	__u64 *kernel;
	size_t n_kernel;
	int kernel_error;
};

/*
 * Takes the stacks of a process's threads while it runs. A thread that is on no CPU holds
 * still: its registers are where it entered the kernel, and its stack is in its memory.
 * That it held still all the time is known by reading it once more: whoever has run since
 * has left a CPU once more often.
 */
struct taken {
	struct thread_reader *reader;
	struct unwinder *unwinder;
	const struct space *space;
	bool kernel_only;
	struct process_memory memory;
	struct called called;
	pid_t pid;
	struct taken_stack *stacks;
	size_t n, size;
	size_t next; /* where the thread is expected that is read next */
};

/* All parts stay the caller's. */
void taken_init(struct taken *taken, struct thread_reader *reader, struct unwinder *unwinder,
		bool kernel_only, pid_t pid);
void taken_done(struct taken *taken);

/* Read which threads there are, and what they do; tid: one of them, or 0: all. 0 or negative errno. */
int taken_find(struct taken *taken, pid_t tid);

/*
 * Take the stacks of all that were found, in the space of their process; of those that move,
 * several times. `thread` is one that runs, through which its memory is read. 0, -EPERM if
 * that may not be read, or another errno.
 */
int taken_take(struct taken *taken, const struct space *space, pid_t thread);

/* Have a stack walked that somebody else has copied. 0 or -ENOMEM. */
int taken_walk_copy(struct taken *taken, struct taken_stack *stack, const struct stack_copy *copy);
/* The kernel's side of it. 0 or -ENOMEM. */
int taken_set_kernel(struct taken_stack *stack, const __u64 *addresses, size_t n, int error);

/* How many stacks are in a state. */
size_t taken_count(const struct taken *taken, enum taken_state state);

#endif
