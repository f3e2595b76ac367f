// SPDX-License-Identifier: Apache-2.0
#include "samples/task_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "limits/limits.h"
#include "process/process_table.h"
#include "runtimes/python/python.h"
#include "samples/runtime_names.h"
#include "symbols/jit.h"
#include "symbols/module.h"

/* From this version on, asyncio publishes where its tasks are. */
#define FIRST_VERSION 0x30e

struct addition {
	struct task_stacks *tasks;
	struct task_budget *budget;
};

static int add(void *arg, const struct python_task_stack *stack)
{
	struct addition *a = arg;
	struct task_stacks *t = a->tasks;

	if (stack->n > PYTHON_TASKS_FRAMES - a->budget->n_frames)
		return 1;
	if (array_reserve(t->stacks, t->n, t->size) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < stack->n; i++) {
		if (array_reserve(t->frames, t->n_frames, t->frames_size) < 0)
			return -ENOMEM;
		t->frames[t->n_frames++] = stack->frames[i];
	}
	a->budget->n_frames += stack->n;
	t->stacks[t->n++] = (struct task_stack){ t->n_frames, stack->is_cut };
	return 0;
}

/* The mapping of CPython, or NULL. */
static const struct mapping *find_python(const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_mappings; i++) {
		const struct mapping *m = &s->mappings[i];

		if (m->binary && m->binary->table && m->binary->table->runtime &&
		    m->binary->table->runtime_kind == DP_RUNTIME_PYTHON)
			return m;
	}
	return NULL;
}

/* The address of what asyncio publishes; 0: it is not loaded. */
static uint64_t find_asyncio(const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_mappings; i++) {
		const struct mapping *m = &s->mappings[i];

		if (m->binary && m->binary->elf.asyncio != 0)
			return m->bias + m->binary->elf.asyncio;
	}
	return 0;
}

enum tasks_result task_stacks_find(const struct snapshot *snapshot, struct python_tasks_place *ret)
{
	const struct mapping *m = find_python(snapshot);

	if (!m)
		return TASKS_NO_PYTHON;
	*ret = (struct python_tasks_place){
		.image = m->binary->table->runtime,
		.runtime = m->bias + m->binary->table->runtime->python.runtime,
		.asyncio = find_asyncio(snapshot),
	};
	if (ret->image->names.version < FIRST_VERSION)
		return TASKS_OLD_PYTHON;
	return ret->asyncio == 0 ? TASKS_NO_ASYNCIO : TASKS_READ;
}

static enum tasks_result result_of(int err)
{
	switch (err) {
	case 0:
	case -ESRCH:
		return TASKS_READ;
	case -ENOTSUP:
		return TASKS_UNKNOWN;
	case -E2BIG:
		return TASKS_FAR;
	default:
		return TASKS_PART;
	}
}

int task_stacks_read(struct task_stacks *t, const struct python_tasks_place *place,
		     const struct runtime_memory *memory, struct task_budget *budget)
{
	struct addition a = { t, budget };
	int err;

	t->n = t->n_frames = 0;
	err = python_tasks_each(place, memory, &budget->n_tasks, add, &a);
	t->result = result_of(err);
	t->err = t->result == TASKS_PART && err < 0 ? err : 0;
	return err == -ENOMEM ? -ENOMEM : 0;
}

void task_stacks_drop(struct task_stacks *t, enum tasks_result result)
{
	task_stacks_done(t);
	t->result = result;
}

void task_stacks_done(struct task_stacks *t)
{
	free(t->frames);
	free(t->stacks);
	*t = (struct task_stacks){ 0 };
}

size_t task_stacks_frames(const struct task_stacks *t, size_t number, struct process_table *table,
			  const struct snapshot *snapshot, struct frame *ret)
{
	size_t first = number > 0 ? t->stacks[number - 1].end : 0;
	size_t n = t->stacks[number].end - first;
	const struct mapping *m = find_python(snapshot);
	struct process *p = process_table_find(table, snapshot->pid);
	struct runtime_names *names = m && p ? runtime_names_find(table, p, DP_RUNTIME_PYTHON,
								  m->binary->table->runtime) :
					       NULL;

	for (size_t i = 0; names && i < n; i++) {
		const struct dp_runtime_frame *f = &t->frames[first + i];

		ret[i] = (struct frame){
			.address = f->code,
			.offset = runtime_names_put(names, DP_RUNTIME_PYTHON, f),
			.module = p->jitted->module,
			.method = runtime_python.method,
		};
	}
	return names ? n : 0;
}

/* Of what runtime_python names a task by, the name alone. NULL: it is not known. */
static char *task_name(const struct frame *frame)
{
	static const char before[] = "[task ";
	const struct source_location *location;
	const char *text;
	size_t n;

	if (!frame->module->jit || !jit_find(frame->module->jit, frame->offset, false, &location) ||
	    !location->function)
		return NULL;
	text = location->function;
	n = strlen(text);
	if (n < sizeof(before) || strncmp(text, before, sizeof(before) - 1) != 0 ||
	    text[n - 1] != ']')
		return NULL;
	return strndup(text + sizeof(before) - 1, n - sizeof(before));
}

int task_stacks_label(const struct task_stacks *t, size_t number, const struct frame *frames,
		      size_t n, struct label_set **ret)
{
	size_t first = number > 0 ? t->stacks[number - 1].end : 0;
	_cleanup_free_ char *name = NULL;
	struct label_list list = { 0 };
	int err;

	for (size_t i = 0; i < n; i++)
		if (t->frames[first + i].position & PYTHON_TASK) {
			name = task_name(&frames[i]);
			break;
		}
	err = label_list_add(&list,
			     &(struct label){ .key = "task", .text = name ? name : "[unknown]" });
	if (err == 0)
		err = label_set_new(&list, ret);
	label_list_done(&list);
	return err;
}
