// SPDX-License-Identifier: Apache-2.0
/* Names of a runtime whose memory may be gone when they are looked up. The process is this test's. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "limits/limits.h"
#include "process/process_table.h"
#include "report/sample.h"
#include "runtimes/runtime.h"
#include "samples/runtime_names.h"
#include "symbols/code_source.h"
#include "symbols/jit.h"

/* Set in the position of code that others may be inlined into. */
#define COMPILED (1U << 31)
/* Set in the position of code of another kind. */
#define KIND (1U << 30)
/* Set in a position that is in column 7 of its line. */
#define COLUMN (1U << 29)
/* Set in a position whose functions are those of one near it. */
#define NEAR (1U << 28)
#define NEARBY (1ULL << 60) /* in what such code is expanded to */

static struct names *names;
static struct process_table table;
static struct process process;
static struct runtime_names *tested;
static int read_error, expand_error; /* what the runtime's functions return, if not 0 */
static unsigned int n_read;

/* Code has its address as its name, and lines from its tag on. */
static int read_code(const void *layout, const struct dp_runtime_frame *frame,
		     const struct runtime_memory *memory, struct runtime_code **ret)
{
	struct runtime_code *code;

	(void)layout;
	(void)memory;
	n_read++;
	if (read_error < 0)
		return read_error;
	code = calloc(1, sizeof(*code) + 1);
	cr_assert_not_null(code);
	snprintf(code->function, sizeof(code->function), "f%u", (unsigned int)frame->code);
	strcpy(code->file, "a");
	code->first_line = (unsigned int)frame->tag;
	code->lines_size = 1;
	*ret = code;
	return 0;
}

/* Function 100 is inlined into all compiled code. */
static int expand(const void *layout, const struct dp_runtime_frame *frame,
		  const struct runtime_memory *memory, struct dp_runtime_frame *ret)
{
	(void)layout;
	(void)memory;
	if (!(frame->position & COMPILED))
		return 0;
	if (expand_error < 0)
		return expand_error;
	ret[0] = (struct dp_runtime_frame){ .code = 100, .tag = 50 };
	ret[0].position = frame->position & NEAR ? NEARBY : 0;
	ret[1] = (struct dp_runtime_frame){ frame->code, 1, frame->tag };
	return 2;
}

static unsigned int line_of(const void *layout, const struct runtime_code *code,
			    const struct dp_runtime_frame *frame)
{
	(void)layout;
	return frame->position & COMPILED ?
		       code->first_line :
		       code->first_line + (unsigned int)(frame->position & ~(KIND | COLUMN)) +
			       (frame->position & KIND ? 500 : 0);
}

static unsigned int column_of(const void *layout, const struct runtime_code *code,
			      const struct dp_runtime_frame *frame)
{
	(void)layout;
	(void)code;
	return frame->position & COLUMN ? 7 : 0;
}

static const struct runtime_source runtime = {
	.method = DP_METHOD_JAVASCRIPT,
	.kinds = KIND,
	.unloaded = "[moved]",
	.layout_size = 1,
	.read = read_code,
	.near = NEARBY,
	.expand = expand,
	.line = line_of,
	.column = column_of,
};

/* Its code has the name that its layout says. */
static int read_other_code(const void *layout, const struct dp_runtime_frame *frame,
			   const struct runtime_memory *memory, struct runtime_code **ret)
{
	int err = read_code(layout, frame, memory, ret);

	if (err == 0)
		(*ret)->function[0] = *(const char *)layout;
	return err;
}

static const struct runtime_source other_runtime = {
	.method = DP_METHOD_PHP,
	.unloaded = "[gone]",
	.layout_size = 1,
	.read = read_other_code,
	.line = line_of,
};

const struct runtime_source *__wrap_runtime_source(unsigned int kind);

const struct runtime_source *__wrap_runtime_source(unsigned int kind)
{
	return kind == DP_RUNTIME_V8 ? &runtime : kind == DP_RUNTIME_PHP ? &other_runtime : NULL;
}

static void begin(void)
{
	cr_assert_eq(names_new(&(struct names_options){ 0 }, &names), 0);
	table.jitted.names = names;
	process.pid = process.thread = getpid();
	tested = runtime_names_find(&table, &process, DP_RUNTIME_V8, "");
	cr_assert_not_null(tested);
	read_error = expand_error = 0;
	n_read = 0;
}

static void end(void)
{
	jitted_drop(process.jitted);
	jitted_store_done(&table.jitted);
	names_free(names);
}

TestSuite(runtime_names, .init = begin, .fini = end);

static uint64_t put(uint64_t code, uint64_t position)
{
	return runtime_names_put(tested, DP_RUNTIME_V8,
				 &(struct dp_runtime_frame){ code, position, 10 });
}

/* The functions and lines that a number stands for, innermost first, of what has been read. */
static const char *known_name_of(uint64_t number)
{
	struct module *module = process.jitted->module;
	static char text[256];
	const struct source_location *location;
	const uint64_t *located;
	bool is_near = false;
	size_t n = module->code->locate(module->code, number, &located, &is_near);

	strcpy(text, is_near ? "near " : "");
	for (size_t i = 0; i < n; i++) {
		size_t at = strlen(text);

		cr_assert(jit_find(module->jit, located[i], true, &location));
		snprintf(text + at, sizeof(text) - at, "%s%s:%u", i > 0 ? " " : "",
			 location->function, location->line);
		at = strlen(text);
		if (location->column > 0)
			snprintf(text + at, sizeof(text) - at, ":%u", location->column);
	}
	return text;
}

static const char *name_of(uint64_t number)
{
	struct code_source *code = process.jitted->module->code;

	code->read(code, number);
	return known_name_of(number);
}

/* Who locates does not wait for memory, and needs none. */
Test(runtime_names, only_reading_reads)
{
	struct code_source *code = process.jitted->module->code;
	uint64_t number = put(1, 2), other = put(2, COMPILED), gone = put(3, 2);
	const struct source_location *location;
	const uint64_t *located;
	bool is_near;

	cr_assert_eq(code->locate(code, number, &located, &is_near), 1);
	cr_expect_not(jit_find(process.jitted->module->jit, *located, true, &location));
	cr_expect_eq(n_read, 0);
	code->read(code, number);
	code->read(code, other);
	read_error = expand_error = -EFAULT;
	cr_expect_str_eq(known_name_of(number), "f1:12");
	cr_expect_str_eq(known_name_of(other), "f100:50 f2:11");
	cr_expect_str_eq(name_of(gone), "[moved]:0");
	cr_expect_str_eq(known_name_of(number), "f1:12");
}

Test(runtime_names, functions)
{
	cr_expect_str_eq(name_of(put(1, 2)), "f1:12");
	cr_expect_str_eq(name_of(put(1, COMPILED)), "f100:50 f1:11");
	cr_expect_str_eq(name_of(put(1, COMPILED | 1)), "f100:50 f1:11");
	cr_expect_eq(n_read, 2);
}

/* The same numbers say something else. */
Test(runtime_names, a_process_may_have_two_runtimes)
{
	const struct dp_runtime_frame frame = { 1, 2, 10 };
	uint64_t first = put(1, 2), other;

	cr_assert_eq(runtime_names_find(&table, &process, DP_RUNTIME_PHP, "g"), tested);
	other = runtime_names_put(tested, DP_RUNTIME_PHP, &frame);
	cr_expect_neq(other, first);
	cr_expect_eq(runtime_names_put(tested, DP_RUNTIME_PHP, &frame), other);
	cr_expect_str_eq(name_of(other), "g1:12");
	cr_expect_str_eq(name_of(first), "f1:12");
	/* Layouts do not change. */
	cr_assert_eq(runtime_names_find(&table, &process, DP_RUNTIME_PHP, "h"), tested);
	cr_expect_str_eq(name_of(runtime_names_put(tested, DP_RUNTIME_PHP,
						   &(struct dp_runtime_frame){ 2, 2, 10 })),
			 "g2:12");
	read_error = -EFAULT;
	cr_expect_str_eq(name_of(runtime_names_put(tested, DP_RUNTIME_PHP,
						   &(struct dp_runtime_frame){ 3, 2, 10 })),
			 "[gone]:0");
	cr_expect_str_eq(name_of(put(3, 2)), "[moved]:0");
}

Test(runtime_names, columns)
{
	cr_expect_str_eq(name_of(put(1, COLUMN | 2)), "f1:12:7");
	cr_expect_str_eq(name_of(put(1, 2)), "f1:12");
	cr_expect_eq(n_read, 1);
}

Test(runtime_names, places_near_that_of_a_frame)
{
	cr_expect_str_eq(name_of(put(1, COMPILED | NEAR | 1)), "near f100:50 f1:11");
	cr_expect_str_eq(name_of(put(1, COMPILED | 1)), "f100:50 f1:11");
	cr_expect_eq(n_read, 2);
}

/* What has been read of a function names it at other positions, too. */
Test(runtime_names, memory_is_gone)
{
	cr_expect_str_eq(name_of(put(1, 2)), "f1:12");
	read_error = expand_error = -EFAULT;
	cr_expect_str_eq(name_of(put(1, COMPILED | 1)), "f1:10");
	cr_expect_str_eq(name_of(put(2, COMPILED | 1)), "[moved]:0");
}

/* Code that was freed is made again, where and as it was: a sample has it, so it is there. */
Test(runtime_names, what_was_gone_may_be_there_again)
{
	uint64_t number = put(1, 2);

	read_error = -ESTALE;
	cr_expect_str_eq(name_of(number), "[moved]:0");
	read_error = 0;
	/* No other sample has it. */
	cr_expect_str_eq(name_of(number), "[moved]:0");
	cr_expect_eq(n_read, 1);
	cr_expect_eq(put(1, 2), number);
	cr_expect_str_eq(name_of(number), "f1:12");
	cr_expect_eq(put(1, 2), number);
	cr_expect_str_eq(name_of(number), "f1:12");
	cr_expect_eq(n_read, 2);
}

/* What stays away is not looked for at each sample. */
Test(runtime_names, what_is_gone_costs_little)
{
	read_error = -EFAULT;
	for (unsigned int i = 0; i < 1000; i++)
		cr_expect_str_eq(name_of(put(1, 2)), "[moved]:0");
	cr_expect_eq(n_read, 10);
}

Test(runtime_names, what_is_inlined_is_gone)
{
	expand_error = -ESTALE;
	cr_expect_str_eq(name_of(put(1, COMPILED | 1)), "f1:10");
	/* It may be readable later. */
	expand_error = -EAGAIN;
	cr_expect_str_eq(name_of(put(1, COMPILED | 2)), "[moved]:0");
	expand_error = 0;
	cr_expect_str_eq(name_of(put(1, COMPILED | 2)), "f100:50 f1:11");
}

/* Once, as they stay. */
Test(runtime_names, are_wanted)
{
	struct frame frame = { .module = process.jitted->module,
			       .method = DP_METHOD_JAVASCRIPT,
			       .offset = put(1, 2) };

	cr_expect(runtime_names_want(&frame));
	cr_expect_not(runtime_names_want(&frame));
	cr_expect_eq(put(1, 2), frame.offset);
	cr_expect_not(runtime_names_want(&frame));
	frame.offset++;
	cr_expect_not(runtime_names_want(&frame), "there is none yet");
	cr_expect_eq(put(1, 3), frame.offset);
	frame.method = DP_METHOD_TABLE;
	cr_expect_not(runtime_names_want(&frame), "native code in the same module");
	frame.method = DP_METHOD_JAVASCRIPT;
	frame.module = NULL;
	cr_expect_not(runtime_names_want(&frame));
	frame.module = process.jitted->module;
	cr_expect(runtime_names_want(&frame));
	frame.offset = DP_RUNTIME_V8;
	cr_expect_not(runtime_names_want(&frame), "it has no code");
}

/* However many positions there are, functions have room for their names. */
Test(runtime_names, many_positions)
{
	uint64_t first = put(1, 2);

	cr_assert_neq(put(1, 3), first);
	for (uint64_t i = 0; i < JIT_MEMORY / 128; i++)
		put(1, i + 4);
	cr_expect_eq(put(1, 2), first);
	cr_expect_str_eq(name_of(put(1, JIT_MEMORY)), "f1:10");
	cr_expect_str_eq(name_of(put(2, COMPILED | 5)), "f2:10");
	cr_expect_str_eq(name_of(put(3, KIND | 5)), "f3:510");
	cr_expect_str_eq(name_of(first), "f1:12");
}
