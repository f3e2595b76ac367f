/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_TASK_STACKS_H
#define DP_SAMPLES_TASK_STACKS_H

#include <stdbool.h>
#include <stddef.h>

#include "process/snapshot.h"
#include "report/label_set.h"
#include "report/sample.h"
#include "runtimes/python/tasks.h"
#include "runtimes/runtime.h"

struct process_table;

/* The result of reading the tasks of a process or a thread. */
enum tasks_result {
	TASKS_READ, /* or they were not wanted, or it has none */
	TASKS_PART, /* these are not all */
	/* Of a process: */
	TASKS_NO_PYTHON,
	TASKS_OLD_PYTHON, /* it does not publish them */
	TASKS_NO_ASYNCIO, /* that is not loaded, or does not publish them */
	TASKS_NO_MORE,    /* there was no more time or room for some threads */
	/* Of a thread: */
	TASKS_UNKNOWN, /* they are published in a way that is not known */
	TASKS_FAR,     /* it is not among the interpreter's first threads */
	TASKS_RAN,     /* it ran at each attempt */
	TASKS_N_RESULTS
};

/* The stacks of a thread's tasks that wait (runtimes/python/tasks.h). All zero: there are none. */
struct task_stacks {
	struct dp_runtime_frame *frames; /* owned; of all stacks, */
	size_t n_frames, frames_size;
	struct task_stack {
		size_t end; /* which end there */
		bool is_cut;
	} * stacks; /* owned */
	size_t n, size;
	enum tasks_result result;
	int err; /* why they are a part; 0: there are too many */
};

/* What has been read of the threads of a process. */
struct task_budget {
	size_t n_tasks, n_frames;
};

/* Finds a process's tasks. TASKS_READ: *ret is set except for its thread; otherwise returns what is missing. */
enum tasks_result task_stacks_find(const struct snapshot *snapshot, struct python_tasks_place *ret);

/*
 * Reads the tasks of a thread that does not run meanwhile, as far as the budget allows. 0 or -ENOMEM; other failures
 * are in tasks->result.
 */
int task_stacks_read(struct task_stacks *tasks, const struct python_tasks_place *place,
		     const struct runtime_memory *memory, struct task_budget *budget);
/* Frees the stacks and sets the result. */
void task_stacks_drop(struct task_stacks *tasks, enum tasks_result result);
void task_stacks_done(struct task_stacks *tasks);

/* Makes the frames of one, of a process of the table; ret: DP_MAX_FRAMES. Returns their number. */
size_t task_stacks_frames(const struct task_stacks *tasks, size_t number,
			  struct process_table *table, const struct snapshot *snapshot,
			  struct frame *ret);

/*
 * Makes the label of a task's stack, by these frames, once they are located: `task`, with its name, or
 * `[unknown]`. 0 or -ENOMEM; the caller frees *ret.
 */
int task_stacks_label(const struct task_stacks *tasks, size_t number, const struct frame *frames,
		      size_t n, struct label_set **ret);

#endif
