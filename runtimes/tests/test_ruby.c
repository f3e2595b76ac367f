// SPDX-License-Identifier: Apache-2.0
/* Instruction sequences in memory, as Ruby 3.1 and later versions have them; and in memory that lies. */
#include <stdlib.h>

#include "runtimes/tests/memory_fixture.h"

#define CODE (PLACE + 0x000)
#define BODY (PLACE + 0x100)
#define LABEL (PLACE + 0x300)
#define PATH (PLACE + 0x400)
#define TEXT (PLACE + 0x500)
#define LINES (PLACE + 0x600)
#define INDEX (PLACE + 0x800)
#define INSTRUCTIONS (PLACE + 0x1000)
/* What has the names of functions in C: their arrays of texts, of 512 each. */
#define NAMES (PLACE + 0x2000)
#define ARRAYS (PLACE + 0x2100)
#define ARRAY(i) (PLACE + 0x2200 + (i)*0x40)
#define ELEMENTS(i) (PLACE + 0x3000 + (i)*0x2000)
#define NAME(i) (PLACE + 0x7000 + (i)*0x40)

/* The layout of 3.1: layouts.h. */
static struct dp_runtime_image image = {
	.chain = { .tagged = 17, .tags = { 80, 88 } },
	.ruby = { .version = 0x301,
		  .body = 16,
		  .size = 4,
		  .instructions = 8,
		  .path = 64,
		  .label = 80,
		  .lines = 120,
		  .n_lines = 136,
		  .index = 144,
		  .line_size = 12,
		  .string_size = 16,
		  .last_operator = 169,
		  .number_shift = 4,
		  .texts = 16 },
};

static struct dp_runtime_frame frame;
static struct runtime_code *code;

static void put_embedded(uint64_t at, const char *text)
{
	put_word(at, 5 | strlen(text) << 14);
	put(at + 16, text, strlen(text));
}

/* 700 words of instructions: lines 10, 20, 30 begin at the first, at the 6th and at the 601st. */
static void begin(void)
{
	uint64_t first = 0, others = 0;

	put_word(CODE + 16, BODY);
	put_half(BODY + 4, 700);
	put_word(BODY + 8, INSTRUCTIONS);
	put_word(BODY + 64, PATH);
	put_word(BODY + 80, LABEL);
	put_word(BODY + 88, 0x15);
	put_word(BODY + 120, LINES);
	put_word(BODY + 136, 3);
	put_word(BODY + 144, INDEX);
	for (uint32_t i = 0; i < 3; i++)
		put_half(LINES + i * 12, (i + 1) * 10);
	for (unsigned int i = 0; i < 9; i++) {
		first |= (uint64_t)(i < 5 ? 1 : 2) << 7 * i;
		others |= 2ULL << 7 * i;
	}
	put_word(INDEX, first);
	for (unsigned int i = 1; i < 6; i++)
		put_word(INDEX + 8 * i, others);
	/* Blocks begin at words 54 and 566: word 600 is number 34 of the second one. */
	put_half(INDEX + 48, 2);
	put_half(INDEX + 48 + 80, 2);
	put_word(INDEX + 48 + 80 + 16, 1ULL << 34);
	put_word(INDEX + 48 + 80 + 8, 1 | 1 << 9);
	put_embedded(LABEL, "block in run");
	put_word(PATH, 5 | 1 << 13);
	put_word(PATH + 16, 7);
	put_word(PATH + 24, TEXT);
	put(TEXT, "/a/b.rb", 7);
	frame = (struct dp_runtime_frame){ CODE, INSTRUCTIONS, chain_tag(LABEL, 0x15) };
}

static void end(void)
{
	free(code);
	image.ruby.version = 0x301;
}

TestSuite(ruby, .init = begin, .fini = end);

static int read_code(void)
{
	free(code);
	code = NULL;
	return runtime_ruby.read(&image, &frame, &memory, &code);
}

/* The line when the next instruction is word number n. */
static unsigned int line_at(uint64_t n)
{
	frame.position = (INSTRUCTIONS + 8 * n) | DP_RUNTIME_ENTRY;
	cr_assert_eq(read_code(), 0);
	return runtime_ruby.line(&image, code, &frame);
}

Test(ruby, reads_names)
{
	cr_assert_eq(read_code(), 0);
	cr_assert_str_eq(code->function, "block in run");
	cr_assert_str_eq(code->file, "/a/b.rb");
}

Test(ruby, reads_lines)
{
	cr_assert_eq(line_at(0), 10);
	cr_assert_eq(line_at(5), 10);
	cr_assert_eq(line_at(6), 20);
	cr_assert_eq(line_at(55), 20);
	cr_assert_eq(line_at(600), 20);
	cr_assert_eq(line_at(601), 30);
	cr_assert_eq(line_at(640), 30);
	cr_assert_eq(line_at(700), 30);
	/* Behind the instructions. */
	cr_assert_eq(line_at(701), 0);
	put_half(BODY + 136, 2);
	cr_assert_eq(line_at(601), 0);
	/* A single line has no index. */
	put_half(BODY + 136, 1);
	put_word(BODY + 144, 0);
	cr_assert_eq(line_at(601), 10);
}

/* The code that was read has the lines of all positions: the function may be gone when another one is named. */
Test(ruby, lines_are_kept)
{
	cr_assert_eq(read_code(), 0);
	memset(bytes, 0, sizeof(bytes));
	frame.position = INSTRUCTIONS + 8 * 6;
	cr_expect_eq(runtime_ruby.line(&image, code, &frame), 20);
	frame.position = INSTRUCTIONS + 8 * 601;
	cr_expect_eq(runtime_ruby.line(&image, code, &frame), 30);
	frame.position = INSTRUCTIONS - 8;
	cr_expect_eq(runtime_ruby.line(&image, code, &frame), 0);
}

Test(ruby, too_many_lines_are_left_out)
{
	put_half(BODY + 136, RUBY_MAX_LINES + 1);
	cr_expect_eq(line_at(6), 0);
	cr_expect_str_eq(code->function, "block in run");
	put_half(BODY + 136, 3);
	put_half(BODY + 4, RUBY_MAX_CODE + 1);
	cr_expect_eq(line_at(6), 0);
	put_half(BODY + 4, 0);
	cr_expect_eq(line_at(0), 0);
}

Test(ruby, later_versions_have_the_size_of_each_string)
{
	image.ruby.version = 0x302;
	put_word(LABEL, 5);
	put_word(LABEL + 16, 3);
	put(LABEL + 24, "run", 3);
	cr_assert_eq(read_code(), 0);
	cr_assert_str_eq(code->function, "run");
	cr_assert_str_eq(code->file, "/a/b.rb");
}

Test(ruby, a_path_may_be_an_array)
{
	put_word(BODY + 64, PATH + 0x40);
	put_word(PATH + 0x40, 7 | 1 << 13);
	put_word(PATH + 0x50, PATH);
	cr_assert_eq(read_code(), 0);
	cr_assert_str_eq(code->file, "/a/b.rb");
	put_word(PATH + 0x40, 7);
	put_word(PATH + 0x60, TEXT + 0x80);
	put_word(TEXT + 0x80, PATH);
	cr_assert_eq(read_code(), 0);
	cr_assert_str_eq(code->file, "/a/b.rb");
}

Test(ruby, other_code_at_the_same_address_is_not_named)
{
	put_word(BODY + 88, 0x17);
	cr_assert_eq(read_code(), -ESTALE);
}

/* Text number i is in the second array from 512 on. */
static void put_name(uint64_t i, uint64_t at, const char *text)
{
	put_word(ELEMENTS(i / 512) + i % 512 * 16, at);
	put_embedded(at, text);
}

static void put_names(void)
{
	put_word(NAMES + 16, ARRAYS);
	put_word(ARRAYS, 7 | 1 << 13 | 2 << 15);
	for (unsigned int i = 0; i < 2; i++) {
		put_word(ARRAYS + 16 + 8 * i, ARRAY(i));
		put_word(ARRAY(i), 7);
		put_word(ARRAY(i) + 16, 1024);
		put_word(ARRAY(i) + 32, ELEMENTS(i));
	}
	put_name('+', NAME(0), "+");
	put_name(169, NAME(1), "[]=");
	put_name(170, NAME(2), "each");
	put_name(1023, NAME(3), "sort_by");
	frame = (struct dp_runtime_frame){ 169, DP_RUNTIME_C, NAMES };
}

Test(ruby, functions_in_c_have_names)
{
	put_names();
	cr_assert_eq(read_code(), 0);
	cr_expect_str_eq(code->function, "[]=");
	cr_expect_str_eq(code->file, "");
	cr_expect_eq(runtime_ruby.line(&image, code, &frame), 0);
	frame.code = 170 << 4 | 5;
	cr_assert_eq(read_code(), 0);
	cr_expect_str_eq(code->function, "each");
	frame.code = 1023 << 4;
	cr_assert_eq(read_code(), 0);
	cr_expect_str_eq(code->function, "sort_by");
}

Test(ruby, what_has_no_names_gives_none)
{
	put_names();
	frame.code = 1024 << 4;
	cr_expect_eq(read_code(), -ESTALE);
	/* In the second array. */
	put_word(ARRAY(1) + 16, 1022);
	frame.code = 1023 << 4;
	cr_expect_eq(read_code(), -ESTALE);
	put_word(ARRAY(1) + 16, 1024);
	put_word(ARRAY(1), 5);
	cr_expect_eq(read_code(), -ESTALE);
	frame.code = 169;
	cr_expect_eq(read_code(), 0);
	put_embedded(NAME(0), "-");
	cr_expect_eq(read_code(), -ESTALE);
	frame.tag = 8;
	cr_expect_eq(read_code(), -EFAULT);
}

Test(ruby, what_is_no_iseq_is_not_named)
{
	put_word(LABEL, 7);
	cr_assert_eq(read_code(), -ESTALE);
	put_word(LABEL, 5 | 1 << 13);
	put_word(LABEL + 16, UINT64_MAX);
	put_word(LABEL + 24, 8);
	cr_assert_eq(read_code(), -EFAULT);
	put_word(BODY + 64, 8);
	cr_assert_eq(read_code(), -EFAULT);
	frame.code = 8;
	cr_assert_eq(read_code(), -EFAULT);
}
