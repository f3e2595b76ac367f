/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RUNTIMES_PYTHON_TASKS_H
#define DP_RUNTIMES_PYTHON_TASKS_H

#include "limits/limits.h"
#include "runtimes/runtime.h"

/*
 * The stacks of suspended asyncio tasks: the functions that each is in, and those of the tasks that await it. Since
 * 3.14, asyncio's module publishes where they are, in a section of its own (.AsyncioDebug; struct
 * _Py_AsyncioModuleDebugOffsets, Modules/_asynciomodule.c). Tasks that are not asyncio's own, or whose thread has
 * ended, are not found. A running task is on its thread's stack; if others await it, its functions are read from there.
 */

/* In a process. */
struct python_tasks_place {
	const struct dp_runtime_image *image; /* of CPython, */
	uint64_t runtime;                     /* and its _PyRuntime */
	uint64_t asyncio;                     /* what that section holds */
	uint64_t thread; /* pthread_self() of one that does not run meanwhile */
};

/* Offsets of members, and the values of some (published.c). */
struct python_tasks {
	uint32_t type;                  /* in an object, */
	uint32_t type_name, type_flags; /* and in its type */
	uint32_t set_mask, set_table;   /* in a set */
	uint32_t digits;                /* in an integer */
	uint32_t next_node;             /* in an entry of a list */
	uint32_t generator_frame, generator_state;
	uint32_t stack;       /* in a frame: the end of its stack, */
	uint8_t awaited_slot; /* and where what it awaits is before that, in words */
	uint8_t generator;    /* the owner of a generator's frame; its states: */
	int8_t awaiting;
	int8_t ended; /* and greater ones; with the one before, it is on a thread's stack */
	/* In a task, or a future, which has no coroutine */
	uint32_t name, awaited_by, is_task, awaited_by_is_set, coroutine, node;
	uint32_t running, head; /* in a thread's state */
};

/* A stack, leaf first: functions, behind those of each task a frame with its name (PYTHON_TASK). */
struct python_task_stack {
	size_t n;
	bool is_cut;
	struct dp_runtime_frame frames[PYTHON_TASK_FRAMES];
};

/* Not 0 ends the search, and is its result. */
typedef int (*python_task_fn)(void *arg, const struct python_task_stack *stack);

/*
 * Calls fn with the stacks of all suspended tasks of a thread; a task that several others await has one for each.
 * Counts the tasks that it examines in *n_tasks, up to PYTHON_TASKS_MAX. 0; 1: some were too many or too long to read;
 * -ENOTSUP: the version does not publish them, or in an unknown layout; -ESRCH: not a thread of Python's; -E2BIG: not
 * among the first of these; or an error of reading.
 */
int python_tasks_each(const struct python_tasks_place *place, const struct runtime_memory *memory,
		      size_t *n_tasks, python_task_fn fn, void *arg);

#endif
