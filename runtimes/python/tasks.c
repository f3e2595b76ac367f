// SPDX-License-Identifier: Apache-2.0
#include "runtimes/python/tasks.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "runtimes/memory.h"
#include "runtimes/python/python.h"

/* Of a type: its instances are integers, or strings (Include/object.h). */
#define IS_INTEGER (1ULL << 24)
#define IS_STRING (1ULL << 28)

/* The place of a set's deleted entry has this hash, which no object has. */
#define NO_HASH UINT64_MAX

/* What struct _Py_AsyncioModuleDebugOffsets holds; sizes are those of its parts. */
enum published {
	TASK_SIZE,
	TASK_NAME,
	TASK_AWAITED_BY,
	TASK_IS_TASK,
	TASK_AWAITED_BY_IS_SET,
	TASK_COROUTINE,
	TASK_NODE,
	INTERPRETER_SIZE,
	INTERPRETER_HEAD,
	THREAD_SIZE,
	THREAD_RUNNING_LOOP,
	THREAD_RUNNING_TASK,
	THREAD_HEAD,
	N_PUBLISHED,
};

/* Structures are not larger. */
#define OFFSETS_END (1U << 20)

/* One that awaits what is on the stack up to here. */
struct waiting {
	uint64_t object;
	size_t n_frames;
};

struct search {
	const struct runtime_memory *memory;
	const struct dp_python *python;
	struct python_tasks at;
	uint64_t thread;  /* its state, */
	uint64_t running; /* and the task that it is in; 0: none */
	struct python_task_stack stack;
	struct waiting waiting[PYTHON_TASK_AWAITERS];
	size_t n_waiting;
	size_t *n_tasks; /* met, on all stacks */
	bool is_partial;
	python_task_fn fn;
	void *arg;
};

static int word_at(const struct search *s, uint64_t address, uint64_t *ret)
{
	return memory_word(s->memory, address, ret);
}

static int byte_at(const struct search *s, uint64_t address, uint8_t *ret)
{
	return memory_read(s->memory, address, ret, sizeof(*ret));
}

/* A reference, which may have flags. */
static int object_at(const struct search *s, uint64_t address, uint64_t *ret)
{
	int err = word_at(s, address, ret);

	*ret &= err < 0 ? 0 : ~DP_PYTHON_REFERENCE_FLAGS;
	return err;
}

static int read_published(const struct python_tasks_place *place,
			  const struct runtime_memory *memory, struct python_tasks *ret)
{
	uint8_t bytes[PYTHON_PUBLISHED_SIZE];
	uint64_t words[N_PUBLISHED];
	int err = memory_read(memory, place->runtime, bytes, sizeof(bytes));

	if (err == 0)
		err = python_published_tasks(bytes, place->image->names.version, ret);
	if (err == 0)
		err = memory_read(memory, place->asyncio, words, sizeof(words));
	for (size_t i = TASK_NAME; err == 0 && i < N_PUBLISHED; i++) {
		size_t size = i < INTERPRETER_SIZE ? TASK_SIZE :
			      i < THREAD_SIZE      ? INTERPRETER_SIZE :
						     THREAD_SIZE;

		if (words[i] > OFFSETS_END || (i != size && words[i] >= words[size]))
			err = -ENOTSUP;
	}
	if (err < 0)
		return err;
	ret->name = (uint32_t)words[TASK_NAME];
	ret->awaited_by = (uint32_t)words[TASK_AWAITED_BY];
	ret->is_task = (uint32_t)words[TASK_IS_TASK];
	ret->awaited_by_is_set = (uint32_t)words[TASK_AWAITED_BY_IS_SET];
	ret->coroutine = (uint32_t)words[TASK_COROUTINE];
	ret->node = (uint32_t)words[TASK_NODE];
	ret->running = (uint32_t)words[THREAD_RUNNING_TASK];
	ret->head = (uint32_t)words[THREAD_HEAD];
	return 0;
}

static bool put(struct search *s, const struct dp_runtime_frame *frame)
{
	struct python_task_stack *stack = &s->stack;

	if (stack->n == ARRAY_SIZE(stack->frames)) {
		stack->is_cut = s->is_partial = true;
		return false;
	}
	stack->frames[stack->n++] = *frame;
	return true;
}

/* Of a frame in a copy of its code's instructions (DP_PYTHON_COPIES_HEAD): as the kernel sends it. */
static int leave_copy(const struct search *s, uint64_t frame, uint64_t code, uint64_t *position)
{
	uint32_t number;
	uint64_t copies, copy;
	int err = memory_half(s->memory, frame + s->python->copy, &number);

	if (err == 0)
		err = word_at(s, code + s->python->copies, &copies);
	if (err == 0)
		err = word_at(s, copies + DP_PYTHON_COPIES_HEAD + number * sizeof(copy), &copy);
	if (err == 0)
		*position += code - copy;
	return err;
}

/* 1: there is no room for it. */
static int put_frame(struct search *s, uint64_t frame)
{
	uint64_t code, position, name, hash;
	uint32_t line;
	int err = object_at(s, frame + s->python->code, &code);

	if (err == 0)
		err = word_at(s, frame + s->python->position, &position);
	if (err == 0)
		err = word_at(s, code + s->python->name, &name);
	if (err == 0)
		err = memory_half(s->memory, code + s->python->line, &line);
	if (err == 0)
		err = word_at(s, name + s->python->hash, &hash);
	if (err == 0 && s->python->copies != 0)
		err = leave_copy(s, frame, code, &position);
	if (err < 0)
		return err;
	position &= ~(DP_RUNTIME_ENTRY | PYTHON_TASK | PYTHON_TASK_NUMBER);
	return !put(s, &(struct dp_runtime_frame){ code, position, python_tag(hash, line) });
}

/* Whether an object is a coroutine or generator of CPython's own, by its type's name. 1, 0, or an error. */
static int has_frame(const struct search *s, uint64_t object)
{
	static const char *const names[] = { "coroutine", "generator" };
	uint64_t type, name;
	char text[sizeof("coroutine")];
	uint8_t owner;
	int err = word_at(s, object + s->at.type, &type);

	if (err == 0)
		err = word_at(s, type + s->at.type_name, &name);
	if (err == 0)
		err = memory_read(s->memory, name, text, sizeof(text));
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(names); i++) {
		if (memcmp(text, names[i], sizeof(text)) != 0)
			continue;
		err = byte_at(s, object + s->at.generator_frame + s->python->entry, &owner);
		return err < 0 ? err : owner == s->at.generator;
	}
	return err;
}

static void reverse(struct dp_runtime_frame *frames, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct dp_runtime_frame f = frames[i];

		frames[i] = frames[n - 1 - i];
		frames[n - 1 - i] = f;
	}
}

/* Whether a coroutine has a frame. 1: and its state is *state; 0: it has ended, or is of another kind; or an error. */
static int read_state(const struct search *s, uint64_t coroutine, int8_t *state)
{
	uint8_t byte;
	int err = has_frame(s, coroutine);

	if (err != 1)
		return err;
	err = byte_at(s, coroutine + s->at.generator_state, &byte);
	if (err < 0)
		return err;
	*state = (int8_t)byte;
	return *state < s->at.ended;
}

/* The last one before it ends: its frame is on the stack of a thread. */
static bool is_executing(const struct search *s, int8_t state)
{
	return state == s->at.ended - 1;
}

/* Adds the frame of a coroutine; *object becomes what it awaits, or 0. 0 or an error. */
static int put_coroutine(struct search *s, uint64_t *object)
{
	uint64_t frame = *object + s->at.generator_frame, top;
	int8_t state;
	int err = read_state(s, *object, &state);

	*object = 0;
	if (err != 1)
		return err;
	err = put_frame(s, frame);
	if (err != 0)
		return err < 0 ? err : 0;
	s->stack.is_cut |= is_executing(s, state);
	if (state != s->at.awaiting)
		return 0;
	err = word_at(s, frame + s->at.stack, &top);
	return err < 0 ? err : object_at(s, top - s->at.awaited_slot * sizeof(top), object);
}

/* Adds the functions of the thread's own stack as far as a frame of it: what that one has called. */
static int put_called(struct search *s, uint64_t outermost)
{
	size_t first = s->stack.n;
	uint64_t frame;
	uint8_t owner;
	int err = word_at(s, s->thread + s->python->thread_frame, &frame);

	for (size_t i = 0; err == 0 && i < PYTHON_TASK_FRAMES && frame != 0; i++) {
		err = byte_at(s, frame + s->python->entry, &owner);
		/* Others are where C has called Python. */
		if (err == 0 && owner < s->python->link)
			err = put_frame(s, frame);
		if (err != 0 || frame == outermost)
			return err < 0 ? err : 0;
		err = word_at(s, frame + s->python->previous, &frame);
	}
	s->stack.n = first;
	s->stack.is_cut = true;
	return err;
}

/* Adds the functions that a task is in, of which the outermost is known. */
static int put_coroutines(struct search *s, uint64_t task)
{
	size_t first = s->stack.n;
	uint64_t object;
	int8_t state;
	int err = word_at(s, task + s->at.coroutine, &object);

	if (err == 0 && object != 0)
		err = read_state(s, object, &state);
	if (err == 1 && is_executing(s, state))
		return put_called(s, object + s->at.generator_frame);
	err = err < 0 ? err : 0;
	while (err == 0 && object != 0 && !s->stack.is_cut)
		err = put_coroutine(s, &object);
	reverse(s->stack.frames + first, s->stack.n - first);
	return err;
}

/* Whether a task does not wait. 1, 0, or an error. */
static int is_running(const struct search *s, uint64_t task)
{
	uint64_t object;
	int8_t state;
	int err;

	if (task == s->running)
		return 1;
	err = word_at(s, task + s->at.coroutine, &object);
	if (err < 0 || object == 0)
		return err;
	err = read_state(s, object, &state);
	return err == 1 ? is_executing(s, state) : err;
}

static int put_task_name(struct search *s, uint64_t task)
{
	uint64_t name, type, flags = 0, position = PYTHON_TASK, tag = 0;
	uint32_t digit = 0;
	int err = word_at(s, task + s->at.name, &name);

	if (err == 0)
		err = word_at(s, name + s->at.type, &type);
	if (err == 0)
		err = word_at(s, type + s->at.type_flags, &flags);
	/* Until somebody asks for it, the name is a number. */
	if (err == 0 && flags & IS_INTEGER) {
		err = memory_half(s->memory, name + s->at.digits, &digit);
		position |= PYTHON_TASK_NUMBER;
		name = digit;
	} else if (err == 0 && flags & IS_STRING) {
		err = word_at(s, name + s->python->hash, &tag);
	} else if (err == 0) {
		err = -ESTALE;
	}
	if (err == 0)
		(void)put(s, &(struct dp_runtime_frame){ name, position, tag });
	return err;
}

/* One more that awaits what is on the stack. */
static void wait_for(struct search *s, uint64_t object)
{
	if (s->n_waiting == ARRAY_SIZE(s->waiting)) {
		s->is_partial = true;
		return;
	}
	s->waiting[s->n_waiting++] = (struct waiting){ object, s->stack.n };
}

static int add_set(struct search *s, uint64_t set)
{
	uint64_t mask, table, entry[2];
	int err = word_at(s, set + s->at.set_mask, &mask);

	if (err == 0)
		err = word_at(s, set + s->at.set_table, &table);
	for (uint64_t i = 0; err == 0 && i <= mask; i++) {
		if (i == PYTHON_TASK_SET) {
			s->stack.is_cut = s->is_partial = true;
			break;
		}
		err = memory_read(s->memory, table + i * sizeof(entry), entry, sizeof(entry));
		if (err == 0 && entry[0] != 0 && entry[1] != NO_HASH)
			wait_for(s, entry[0]);
	}
	return err;
}

/* Those that await a task or future. *ret: is there any? */
static int add_awaiting(struct search *s, uint64_t object, bool *ret)
{
	size_t before = s->n_waiting;
	uint64_t awaiting;
	uint8_t is_set;
	int err = word_at(s, object + s->at.awaited_by, &awaiting);

	if (err == 0)
		err = byte_at(s, object + s->at.awaited_by_is_set, &is_set);
	if (err == 0 && awaiting != 0 && is_set)
		err = add_set(s, awaiting);
	else if (err == 0 && awaiting != 0)
		wait_for(s, awaiting);
	*ret = s->n_waiting > before;
	return err;
}

/* Goes on with one that awaits: a task, or a future, as gather() has one. */
static int follow(struct search *s, const struct waiting *w)
{
	bool is_awaited = false;
	uint8_t is_task;
	int err = byte_at(s, w->object + s->at.is_task, &is_task);

	s->stack.n = w->n_frames;
	s->stack.is_cut = false;
	if (err == 0 && is_task)
		err = put_coroutines(s, w->object);
	if (err == 0 && is_task && !s->stack.is_cut)
		err = put_task_name(s, w->object);
	if (err == 0 && !s->stack.is_cut)
		err = add_awaiting(s, w->object, &is_awaited);
	return err < 0 || is_awaited ? err : s->fn(s->arg, &s->stack);
}

/* One more is looked at. 1: there have been too many. */
static int count(struct search *s)
{
	if (*s->n_tasks >= PYTHON_TASKS_MAX) {
		s->is_partial = true;
		return 1;
	}
	++*s->n_tasks;
	return 0;
}

/* The stacks of a task. A cycle of those that await each other ends where the stack has no more room. */
static int search_task(struct search *s, uint64_t task)
{
	int err = 0;

	s->stack.n = s->n_waiting = 0;
	wait_for(s, task);
	while (err == 0 && s->n_waiting > 0) {
		struct waiting w = s->waiting[--s->n_waiting];

		err = count(s);
		if (err == 0)
			err = follow(s, &w);
	}
	return err;
}

/* The thread's state. -ESRCH: it is no thread of Python's; -E2BIG: it is not among the first ones. */
static int find_thread(const struct search *s, const struct python_tasks_place *place,
		       uint64_t *ret)
{
	uint64_t interpreter, thread = 0, id;
	int err = word_at(s, place->runtime + s->python->interpreters, &interpreter);

	for (size_t i = 0; err == 0 && i < DP_MAX_RUNTIME_THREADS; i++) {
		if (thread == 0 && interpreter == 0)
			return -ESRCH;
		if (thread == 0) {
			err = word_at(s, interpreter + s->python->first_thread, &thread);
			if (err == 0)
				err = word_at(s, interpreter + s->python->next_interpreter,
					      &interpreter);
			continue;
		}
		err = word_at(s, thread + s->python->thread_id, &id);
		if (err == 0 && id == place->thread) {
			*ret = thread;
			return 0;
		}
		if (err == 0)
			err = word_at(s, thread + s->python->next_thread, &thread);
	}
	return err < 0 ? err : -E2BIG;
}

/* 1: there are more than are read. */
static int search_thread(struct search *s)
{
	uint64_t head = s->thread + s->at.head, node;
	int err = word_at(s, head + s->at.next_node, &node);

	/* 0: a thread that has none yet */
	while (err == 0 && node != head && node != 0) {
		err = is_running(s, node - s->at.node);
		err = err == 0 ? search_task(s, node - s->at.node) : err == 1 ? count(s) : err;
		if (err == 0)
			err = word_at(s, node + s->at.next_node, &node);
	}
	return err;
}

int python_tasks_each(const struct python_tasks_place *place, const struct runtime_memory *memory,
		      size_t *n_tasks, python_task_fn fn, void *arg)
{
	struct search s = { .memory = memory,
			    .python = &place->image->python,
			    .n_tasks = n_tasks,
			    .fn = fn,
			    .arg = arg };
	int err = read_published(place, memory, &s.at);

	if (err == 0)
		err = find_thread(&s, place, &s.thread);
	if (err == 0)
		err = word_at(&s, s.thread + s.at.running, &s.running);
	if (err == 0)
		err = search_thread(&s);
	return err == 0 && s.is_partial ? 1 : err;
}
