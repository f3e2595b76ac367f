// SPDX-License-Identifier: Apache-2.0
/* Tasks of asyncio in memory, as 3.14 has them; and in memory that lies. */
#include <stdlib.h>

#include "runtimes/python/python.h"
#include "runtimes/python/tasks.h"
#include "runtimes/tests/memory_fixture.h"

#define RUNTIME PLACE
#define ASYNCIO (PLACE + 0x400)
#define INTERPRETER (PLACE + 0x800)
#define THREAD (PLACE + 0x1000)
#define THREAD_FRAME 0x48
#define RUNNING 0x368
#define HEAD 0x370
#define COROUTINE (PLACE + 0x2000) /* types: */
#define INTEGER (PLACE + 0x2100)
#define STRING (PLACE + 0x2200)
#define FUTURE (PLACE + 0x2300)
#define TYPE_NAMES (PLACE + 0x2400)
#define CODES (PLACE + 0x3000)
#define NAMES (PLACE + 0x4000)
#define COROUTINES (PLACE + 0x5000)
#define TASKS (PLACE + 0x8000)
#define SET (PLACE + 0xb000)

#define SELF 0x7000
#define FRAME 72 /* in a coroutine; in it: */
#define STACK 64
#define STATE 67
#define OWNER 80
#define PREVIOUS 8
#define SUSPENDED (-2)
#define AWAITS (-1)
#define EXECUTES 0
#define ENDED 1

/* Objects by number. */
#define CODE(i) (CODES + (i)*0x80ULL)
#define COROUTINE_AT(i) (COROUTINES + (i)*0x100ULL)
#define TASK(i) (TASKS + (i)*0x100ULL)
#define NAME(i) (NAMES + (i)*0x80ULL)

static const struct dp_runtime_image image = {
	.python = { .interpreters = 2048,
		    .first_thread = 8,
		    .next_interpreter = 16,
		    .next_thread = 8,
		    .thread_id = 16,
		    .thread_frame = THREAD_FRAME,
		    .previous = PREVIOUS,
		    .link = 3,
		    .code = 0,
		    .position = 56,
		    .position_size = 8,
		    .entry = OWNER,
		    .name = 16,
		    .line = 24,
		    .hash = 24 },
	.names = { .version = 0x30e,
		   .string_size = 16,
		   .string_state = 32,
		   .string_ascii = 40,
		   .string_text = 56,
		   .string_kind = 2 },
};

static struct python_task_stack found[4];
static size_t n_found, n_tasks;

static int on_stack(void *arg, const struct python_task_stack *stack)
{
	if (n_found < sizeof(found) / sizeof(*found))
		found[n_found] = *stack;
	n_found++;
	return 0;
}

static int find(void)
{
	const struct python_tasks_place place = { &image, RUNTIME, ASYNCIO, SELF };

	n_found = n_tasks = 0;
	return python_tasks_each(&place, &memory, &n_tasks, on_stack, NULL);
}

/* Where 3.14 publishes what (published.h). */
static void put_published(void)
{
	static const uint64_t values[][2] = {
		{ 408, 8 },  { 424, 24 }, { 440, 32 },    { 520, 32 },    { 512, 40 },
		{ 584, 24 }, { 696, 0 },  { 680, FRAME }, { 688, STATE }, { 296, STACK },
	};
	static const uint64_t asyncio[13] = { 168,    136,   96,  108, 109,     128, 152,
					      229960, 10880, 936, 864, RUNNING, HEAD };

	put(RUNTIME, "xdebugpy", 8);
	put_word(RUNTIME + 8, 0x030e0af0);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		put_word(RUNTIME + values[i][0], values[i][1]);
	put(ASYNCIO, asyncio, sizeof(asyncio));
}

static void put_type(uint64_t at, size_t number, const char *name, uint64_t flags)
{
	put_word(at + 24, TYPE_NAMES + number * 32);
	put(TYPE_NAMES + number * 32, name, strlen(name) + 1);
	put_word(at + 32, flags);
}

/* A function, with a hash in place of its name. */
static void put_code(size_t i)
{
	put_word(CODE(i) + 16, NAME(i));
	put_half(CODE(i) + 24, (uint32_t)(10 * i));
	put_word(NAME(i) + 24, 1000 + i);
}

static void put_coroutine(size_t i, int8_t state, uint64_t awaited)
{
	uint64_t at = COROUTINE_AT(i), frame = at + FRAME;
	uint8_t owner = 1;

	put_code(i);
	put_word(at + 8, COROUTINE);
	/* A reference with a flag */
	put_word(frame, CODE(i) | 1);
	put_word(frame + 56, 500 + i);
	put(frame + OWNER, &owner, 1);
	put_word(frame + STACK, at + 0xf8);
	put_word(at + 0xf0, awaited);
	put(at + STATE, &state, 1);
}

static void put_future(size_t i, uint64_t awaited_by, bool is_set)
{
	uint8_t set = is_set;

	put_word(TASK(i) + 8, FUTURE);
	put_word(TASK(i) + 96, awaited_by);
	put(TASK(i) + 109, &set, 1);
}

static void put_task(size_t i, uint64_t coroutine, uint64_t awaited_by, bool is_set)
{
	uint8_t yes = 1;

	put_future(i, awaited_by, is_set);
	put(TASK(i) + 108, &yes, 1);
	put_word(TASK(i) + 128, coroutine);
	/* The number i */
	put_word(TASK(i) + 136, NAME(20 + i));
	put_word(NAME(20 + i) + 8, INTEGER);
	put_half(NAME(20 + i) + 24, (uint32_t)i);
}

/* Makes these the thread's tasks. */
static void list(size_t n, const size_t *tasks)
{
	uint64_t at = THREAD + HEAD;

	for (size_t i = 0; i < n; i++) {
		put_word(at, TASK(tasks[i]) + 152);
		at = TASK(tasks[i]) + 152;
	}
	put_word(at, THREAD + HEAD);
}

static void begin(void)
{
	memset(bytes, 0, sizeof(bytes));
	put_published();
	put_word(RUNTIME + 2048, INTERPRETER);
	put_word(INTERPRETER + 8, THREAD + 0x800);
	/* Another thread, and this one */
	put_word(THREAD + 0x800 + 8, THREAD);
	put_word(THREAD + 16, SELF);
	put_type(COROUTINE, 0, "coroutine", 0);
	put_type(INTEGER, 1, "int", 1 << 24);
	put_type(STRING, 2, "str", 1 << 28);
	put_type(FUTURE, 3, "_asyncio.Future", 0);
}

TestSuite(python_tasks, .init = begin);

/* A function's number, or the negative one of a task. */
static void check_stack(size_t number, size_t n, const int *wanted)
{
	const struct python_task_stack *s = &found[number];

	cr_assert_eq(s->n, n, "%zu", s->n);
	for (size_t i = 0; i < n; i++) {
		const struct dp_runtime_frame *f = &s->frames[i];
		uint64_t k = (uint64_t)abs(wanted[i]);

		if (wanted[i] < 0) {
			cr_assert_eq(f->position, PYTHON_TASK | PYTHON_TASK_NUMBER);
			cr_assert_eq(f->code, k);
			continue;
		}
		cr_assert_eq(f->code, CODE(k), "frame %zu", i);
		cr_assert_eq(f->position, 500 + k);
		cr_assert_eq(f->tag, python_tag(1000 + k, (uint32_t)(10 * k)));
	}
}

#define CHECK(number, ...)                                                                         \
	check_stack(number, sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int),                    \
		    (const int[]){ __VA_ARGS__ })

Test(python_tasks, have_their_functions_and_those_of_who_awaits_them)
{
	/* 2 awaits 1, which awaits a future; 4 awaits their task. */
	put_coroutine(1, AWAITS, TASK(9));
	put_coroutine(2, AWAITS, COROUTINE_AT(1));
	put_coroutine(4, AWAITS, TASK(3));
	put_future(9, TASK(3), false);
	put_task(3, COROUTINE_AT(2), TASK(5), false);
	put_task(5, COROUTINE_AT(4), 0, false);
	list(2, (const size_t[]){ 3, 5 });
	cr_assert_eq(find(), 0);
	cr_assert_eq(n_found, 2);
	CHECK(0, 1, 2, -3, 4, -5);
	CHECK(1, 4, -5);
}

Test(python_tasks, that_nothing_awaits_end_there)
{
	put_coroutine(1, SUSPENDED, COROUTINE_AT(2));
	put_coroutine(2, SUSPENDED, 0);
	put_coroutine(6, ENDED, 0);
	put_task(3, COROUTINE_AT(1), 0, false);
	put_task(4, COROUTINE_AT(6), 0, false);
	list(2, (const size_t[]){ 3, 4 });
	cr_assert_eq(find(), 0);
	CHECK(0, 1, -3);
	CHECK(1, -4);
}

Test(python_tasks, are_followed_through_futures)
{
	put_coroutine(1, SUSPENDED, 0);
	put_coroutine(2, SUSPENDED, 0);
	put_task(3, COROUTINE_AT(1), TASK(7), false);
	put_future(7, TASK(5), false);
	put_task(5, COROUTINE_AT(2), 0, false);
	list(1, (const size_t[]){ 3 });
	cr_assert_eq(find(), 0);
	CHECK(0, 1, -3, 2, -5);
}

Test(python_tasks, have_a_stack_for_each_that_awaits_them)
{
	/* The third place is of one that awaits no more, and still there. */
	const uint64_t entries[8] = { TASK(5), 77, 0, 0, TASK(7), UINT64_MAX, TASK(6), 78 };

	for (size_t i = 1; i <= 3; i++)
		put_coroutine(i, SUSPENDED, 0);
	put_word(SET + 32, 3);
	put_word(SET + 40, SET + 0x100);
	put(SET + 0x100, entries, sizeof(entries));
	put_task(3, COROUTINE_AT(1), SET, true);
	put_task(5, COROUTINE_AT(2), 0, false);
	put_task(6, COROUTINE_AT(3), 0, false);
	list(1, (const size_t[]){ 3 });
	cr_assert_eq(find(), 0);
	cr_assert_eq(n_found, 2);
	CHECK(0, 1, -3, 3, -6);
	CHECK(1, 1, -3, 2, -5);
}

Test(python_tasks, of_other_coroutines_have_a_name_alone)
{
	put_coroutine(1, SUSPENDED, 0);
	put_word(COROUTINE_AT(1) + 8, FUTURE);
	put_task(3, COROUTINE_AT(1), 0, false);
	list(1, (const size_t[]){ 3 });
	cr_assert_eq(find(), 0);
	CHECK(0, -3);
}

Test(python_tasks, that_await_each_other_end)
{
	put_coroutine(1, SUSPENDED, 0);
	put_coroutine(2, AWAITS, COROUTINE_AT(2));
	put_task(3, COROUTINE_AT(1), TASK(4), false);
	put_task(4, COROUTINE_AT(1), TASK(3), false);
	put_task(5, COROUTINE_AT(2), 0, false);
	put_future(7, TASK(8), false);
	put_future(8, TASK(7), false);
	put_task(6, COROUTINE_AT(1), TASK(7), false);
	list(3, (const size_t[]){ 3, 5, 6 });
	cr_assert_eq(find(), 1);
	cr_assert_eq(n_found, 2);
	cr_assert(found[0].is_cut);
	cr_assert(found[1].is_cut);
	cr_assert_eq(found[1].n, PYTHON_TASK_FRAMES);
}

/* 5, which awaits 3, runs: its function has called another one, by way of C. */
static void run(void)
{
	uint8_t link = 3;

	put_coroutine(1, SUSPENDED, 0);
	put_coroutine(4, EXECUTES, 0);
	put_coroutine(7, EXECUTES, 0);
	put_task(3, COROUTINE_AT(1), TASK(5), false);
	put_task(5, COROUTINE_AT(4), 0, false);
	put_word(THREAD + THREAD_FRAME, COROUTINE_AT(7) + FRAME);
	put_word(COROUTINE_AT(7) + FRAME + PREVIOUS, COROUTINE_AT(8) + FRAME);
	put(COROUTINE_AT(8) + FRAME + OWNER, &link, 1);
	put_word(COROUTINE_AT(8) + FRAME + PREVIOUS, COROUTINE_AT(4) + FRAME);
	list(2, (const size_t[]){ 3, 5 });
}

Test(python_tasks, that_run_are_no_stack_but_behind_others)
{
	run();
	cr_assert_eq(find(), 0);
	cr_assert_eq(n_found, 1);
	CHECK(0, 1, -3, 7, 4, -5);
	cr_expect_not(found[0].is_cut);
	/* Not of CPython's own kind */
	put_word(COROUTINE_AT(4) + 8, FUTURE);
	cr_assert_eq(find(), 0);
	cr_assert_eq(n_found, 2);
	put_word(THREAD + RUNNING, TASK(5));
	cr_assert_eq(find(), 0);
	cr_assert_eq(n_found, 1);
	CHECK(0, 1, -3, -5);
}

Test(python_tasks, that_run_elsewhere_are_incomplete)
{
	run();
	put_word(COROUTINE_AT(8) + FRAME + PREVIOUS, COROUTINE_AT(7) + FRAME);
	cr_assert_eq(find(), 0);
	cr_assert_eq(n_found, 1);
	CHECK(0, 1, -3);
	cr_expect(found[0].is_cut);
	/* What waits does not await what runs. */
	put_coroutine(1, AWAITS, COROUTINE_AT(4));
	cr_assert_eq(find(), 0);
	CHECK(0, 4, 1);
	cr_expect(found[0].is_cut);
}

Test(python_tasks, in_a_list_without_end_end)
{
	put_coroutine(1, SUSPENDED, 0);
	put_task(3, COROUTINE_AT(1), 0, false);
	list(1, (const size_t[]){ 3 });
	put_word(TASK(3) + 152, TASK(3) + 152);
	cr_assert_eq(find(), 1);
	cr_assert_eq(n_found, PYTHON_TASKS_MAX);
	cr_assert_eq(n_tasks, PYTHON_TASKS_MAX);
	put_coroutine(1, EXECUTES, 0);
	cr_assert_eq(find(), 1);
	cr_assert_eq(n_found, 0);
}

/* Zeros without end, of which so many may be read. */
#define ENDLESS (UINT64_C(1) << 32)

static size_t n_left;

static int read_endless(void *arg, void *ret, size_t size, uint64_t address)
{
	if (address < ENDLESS)
		return read_bytes(arg, ret, size, address);
	memset(ret, 0, size);
	return n_left > 0 && n_left-- > 0 ? 0 : -ENOBUFS;
}

Test(python_tasks, in_a_set_without_end_end)
{
	const struct runtime_memory endless = { read_endless, NULL };
	const struct python_tasks_place place = { &image, RUNTIME, ASYNCIO, SELF };

	put_coroutine(1, SUSPENDED, 0);
	put_task(3, COROUTINE_AT(1), SET, true);
	list(1, (const size_t[]){ 3 });
	put_word(SET + 32, UINT64_MAX);
	put_word(SET + 40, ENDLESS);
	n_left = PYTHON_TASK_SET;
	cr_assert_eq(python_tasks_each(&place, &endless, &n_tasks, on_stack, NULL), 1);
	cr_assert_eq(n_found, 1);
	CHECK(0, 1, -3);
	cr_expect(found[0].is_cut);
}

Test(python_tasks, that_too_many_await_are_partial)
{
	put_coroutine(1, SUSPENDED, 0);
	put_coroutine(2, SUSPENDED, 0);
	put_task(3, COROUTINE_AT(1), SET, true);
	put_task(5, COROUTINE_AT(2), 0, false);
	put_word(SET + 32, PYTHON_TASK_AWAITERS - 1);
	put_word(SET + 40, SET + 0x100);
	for (uint64_t i = 0; i <= PYTHON_TASK_AWAITERS; i++)
		put_word(SET + 0x100 + 16 * i, TASK(5));
	list(1, (const size_t[]){ 3 });
	cr_assert_eq(find(), 0);
	cr_assert_eq(n_found, PYTHON_TASK_AWAITERS);
	put_word(SET + 32, PYTHON_TASK_AWAITERS);
	cr_assert_eq(find(), 1);
	cr_assert_eq(n_found, PYTHON_TASK_AWAITERS);
	CHECK(1, 1, -3, 2, -5);
}

Test(python_tasks, of_another_thread_or_version_are_not_found)
{
	put_coroutine(1, SUSPENDED, 0);
	put_task(3, COROUTINE_AT(1), 0, false);
	list(1, (const size_t[]){ 3 });
	put_word(THREAD + 16, SELF + 1);
	cr_assert_eq(find(), -ESRCH);
	cr_assert_eq(n_found, 0);
	/* A list that does not end */
	put_word(THREAD + 8, THREAD);
	cr_assert_eq(find(), -E2BIG);
	put_word(THREAD + 16, SELF);
	cr_assert_eq(find(), 0);
	cr_assert_eq(n_found, 1);
	put_word(ASYNCIO + 8, 168);
	cr_assert_eq(find(), -ENOTSUP);
	put_published();
	put_word(RUNTIME + 8, 0x030d00f0);
	cr_assert_eq(find(), -ENOTSUP);
}

static void put_string(uint64_t at, const char *text, uint64_t hash)
{
	put_word(at + 8, STRING);
	put_word(at + 16, strlen(text));
	put_word(at + 24, hash);
	put_half(at + 32, (1 | 1 << 3 | 1 << 4) << 2);
	put(at + 40, text, strlen(text));
}

static int read_name(const struct dp_runtime_frame *frame, char ret[RUNTIME_NAME_SIZE])
{
	struct runtime_code *code = NULL;
	int err = runtime_python.read(&image, frame, &memory, &code);

	if (err == 0) {
		strcpy(ret, code->function);
		cr_assert_eq(runtime_python.line(&image, code, frame), 0);
		cr_assert_str_eq(code->file, "");
	}
	free(code);
	return err;
}

Test(python_tasks, have_names)
{
	char name[RUNTIME_NAME_SIZE];
	struct dp_runtime_frame frame;

	put_coroutine(1, SUSPENDED, 0);
	put_task(3, COROUTINE_AT(1), 0, false);
	put_task(4, COROUTINE_AT(1), 0, false);
	put_string(NAME(24), "load", 55);
	list(2, (const size_t[]){ 3, 4 });
	cr_assert_eq(find(), 0);
	cr_assert_eq(read_name(&found[0].frames[1], name), 0);
	cr_assert_str_eq(name, "[task Task-3]");
	frame = found[1].frames[1];
	cr_assert_eq(frame.position, PYTHON_TASK);
	cr_assert_eq(read_name(&frame, name), 0);
	cr_assert_str_eq(name, "[task load]");
	put_string(NAME(24), "much", 56);
	cr_assert_eq(read_name(&frame, name), -ESTALE);
}

/* Characters of two bytes, at odd places. */
Test(python_tasks, have_long_names_of_whole_characters)
{
	char text[RUNTIME_NAME_SIZE], name[RUNTIME_NAME_SIZE];
	size_t n;

	memset(text, 0xe9, sizeof(text));
	text[0] = 'a';
	put_coroutine(1, SUSPENDED, 0);
	put_task(3, COROUTINE_AT(1), 0, false);
	put_string(NAME(23), "", 55);
	put_word(NAME(23) + 16, sizeof(text));
	put_half(NAME(23) + 32, (1 | 1 << 3) << 2);
	put(NAME(23) + 56, text, sizeof(text));
	list(1, (const size_t[]){ 3 });
	cr_assert_eq(find(), 0);
	cr_assert_eq(read_name(&found[0].frames[1], name), 0);
	n = strlen(name);
	cr_assert_gt(n, sizeof(name) - 4);
	cr_assert_str_eq(name + n - 3, "\xc3\xa9]");
}
