/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_TASK_STACKS_H
#define DP_SAMPLES_TASK_STACKS_H

#include <stdbool.h>
#include <stddef.h>

#include "process/snapshot.h"
#include "report/sample.h"
#include "runtimes/runtime.h"

struct process_table;

/* The stacks of a thread's tasks that wait (runtimes/python/tasks.h). All zero: there are none. */
struct task_stacks {
	struct dp_runtime_frame *frames; /* owned; of all stacks, */
	size_t n_frames, frames_size;
	struct task_stack {
		size_t end; /* which end there */
		bool is_cut;
	} * stacks; /* owned */
	size_t n, size;
	/* 0; 1: these are not all; -ENOENT: no such tasks can be there; -ENOTSUP: of a version that is not
	 * known; or an error of reading */
	int err;
};

/* Reads them anew, of a thread that does not run meanwhile. 0 or -ENOMEM; what else fails is in tasks->err. */
int task_stacks_read(struct task_stacks *tasks, const struct snapshot *snapshot, uint64_t thread,
		     const struct runtime_memory *memory);
void task_stacks_done(struct task_stacks *tasks);

/* Makes the frames of one, of a process of the table; ret: DP_MAX_FRAMES. Returns their number. */
size_t task_stacks_frames(const struct task_stacks *tasks, size_t number,
			  struct process_table *table, const struct snapshot *snapshot,
			  struct frame *ret);

#endif
