// SPDX-License-Identifier: Apache-2.0
/* Code objects in memory, as 3.11 has them; and in memory that lies. Lines: check_lines.py. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtimes/runtime.h"

#define PLACE 0x10000
#define CODE (PLACE + 0x000)
#define NAME (PLACE + 0x200)
#define FILE_NAME (PLACE + 0x800)
#define LINES (PLACE + 0x1000)

/* The layout of 3.11: Include/cpython/code.h, unicodeobject.h, bytesobject.h. */
static struct dp_runtime_image image = {
	.python = { .position_size = 8, .name = 120, .line = 72, .hash = 24 },
	.names = { .version = 0x30b,
		   .qualname = 128,
		   .filename = 112,
		   .lines = 136,
		   .instructions = 184,
		   .string_size = 16,
		   .string_state = 32,
		   .string_ascii = 48,
		   .string_text = 72,
		   .bytes_size = 16,
		   .bytes = 32,
		   .string_kind = 2 },
};

static uint8_t bytes[0x4000];
static struct runtime_code *code;

static int read_bytes(void *arg, void *ret, size_t size, uint64_t address)
{
	if (address < PLACE || address - PLACE > sizeof(bytes) ||
	    size > sizeof(bytes) - (address - PLACE))
		return -EFAULT;
	memcpy(ret, bytes + (address - PLACE), size);
	return 0;
}

static const struct runtime_memory memory = { read_bytes, NULL };

static void put(uint64_t address, const void *from, size_t size)
{
	memcpy(bytes + (address - PLACE), from, size);
}

static void put_word(uint64_t address, uint64_t value)
{
	put(address, &value, sizeof(value));
}

/* bytes of a character: 1, 2, 4; 0: ASCII */
static void put_string(uint64_t at, unsigned int kind, const void *text, size_t n)
{
	uint32_t flags = (kind ? kind : 1) | 1 << 3 | (kind == 0) << 4;
	uint32_t state = flags << image.names.string_kind | 1;

	put_word(at + 16, n);
	put_word(at + 24, 99);
	put(at + 32, &state, sizeof(state));
	put(at + (kind ? 72 : 48), text, n * (kind ? kind : 1));
}

static struct dp_runtime_frame frame;

static void begin(void)
{
	/* Two instructions in line 7, one without a line, one in line 9. */
	static const uint8_t lines[] = { 0x80 | 13 << 3 | 1, 0, 0x80 | 15 << 3, 0x80 | 13 << 3, 4 };

	put_word(CODE + 112, FILE_NAME);
	put_word(CODE + 120, NAME);
	put_word(CODE + 128, NAME);
	put_word(CODE + 136, LINES);
	put_word(CODE + 72, 7);
	put_string(NAME, 0, "A.run", 5);
	put_string(FILE_NAME, 0, "/a/b.py", 7);
	put_word(LINES + 16, sizeof(lines));
	put(LINES + 32, lines, sizeof(lines));
	frame = (struct dp_runtime_frame){ CODE, CODE + 184, python_tag(99, 7) };
}

static void end(void)
{
	free(code);
}

TestSuite(python, .init = begin, .fini = end);

static int read_code(void)
{
	free(code);
	code = NULL;
	return runtime_python.read(&image, &frame, &memory, &code);
}

static unsigned int line_at(int64_t offset)
{
	frame.position = (CODE + 184 + (uint64_t)offset) | DP_RUNTIME_ENTRY;
	return runtime_python.line(&image, code, &frame);
}

Test(python, reads_a_code_object)
{
	cr_assert_eq(read_code(), 0);
	cr_assert_str_eq(code->function, "A.run");
	cr_assert_str_eq(code->file, "/a/b.py");
	cr_assert_eq(line_at(0), 7);
	cr_assert_eq(line_at(2), 7);
	cr_assert_eq(line_at(4), 0);
	cr_assert_eq(line_at(6), 9);
	cr_assert_eq(line_at(8), 0);
	/* It has not begun. */
	cr_assert_eq(line_at(-2), 7);
}

/* As compile() makes of a tree, and code.replace(). */
static void begin_in_line(int line)
{
	put(CODE + 72, &line, sizeof(line));
	frame.tag = python_tag(99, (uint32_t)line);
	cr_assert_eq(read_code(), 0);
}

Test(python, code_may_begin_in_no_line)
{
	begin_in_line(0);
	cr_assert_str_eq(code->function, "A.run");
	cr_assert_str_eq(code->file, "/a/b.py");
	cr_assert_eq(line_at(-2), 0);
	cr_assert_eq(line_at(0), 0);
	cr_assert_eq(line_at(6), 2);
	begin_in_line(-1);
	cr_assert_eq(line_at(-2), 0);
	cr_assert_eq(line_at(0), 0);
	cr_assert_eq(line_at(6), 1);
	put_word(LINES + 16, 0);
	cr_assert_eq(read_code(), 0);
	cr_assert_eq(line_at(6), 0);
}

Test(python, names_become_utf8)
{
	const uint16_t two[] = { 'a', 0xfc, 0x20ac };
	const uint32_t four[] = { 0x1f40d, 'b', 0x110000 };
	const uint8_t one[] = { 'x', 0xe9 };

	put_string(NAME, 2, two, 3);
	put_string(FILE_NAME, 4, four, 3);
	cr_assert_eq(read_code(), 0);
	cr_assert_str_eq(code->function, "aü€");
	cr_assert_str_eq(code->file, "🐍b?");
	put_string(NAME, 1, one, 2);
	cr_assert_eq(read_code(), 0);
	cr_assert_str_eq(code->function, "xé");
}

Test(python, a_state_may_begin_with_a_byte)
{
	const uint8_t one[] = { 'x', 0xe9 };

	image.names.string_kind = 8;
	put_string(NAME, 0, "A.go", 4);
	put_string(FILE_NAME, 1, one, 2);
	cr_assert_eq(read_code(), 0);
	cr_assert_str_eq(code->function, "A.go");
	cr_assert_str_eq(code->file, "xé");
	/* Whatever an image says. */
	image.names.string_kind = UINT32_MAX;
	cr_assert_eq(read_code(), -ESTALE);
}

Test(python, positions_may_be_offsets)
{
	image.names.instructions = 0;
	cr_assert_eq(read_code(), 0);
	cr_assert_eq(line_at(0 - 184), 7);
	cr_assert_eq(line_at(6 - 184), 9);
}

Test(python, other_code_at_the_same_address_is_not_named)
{
	put_word(CODE + 72, 8);
	cr_assert_eq(read_code(), -ESTALE);
	put_word(CODE + 72, 7);
	put_word(NAME + 24, 98);
	cr_assert_eq(read_code(), -ESTALE);
}

Test(python, sizes_without_end_are_cut)
{
	put_word(NAME + 16, UINT64_MAX);
	memset(bytes + (NAME - PLACE) + 48, 'x', RUNTIME_NAME_SIZE);
	put_word(LINES + 16, UINT64_MAX / 2);
	cr_assert_eq(read_code(), 0);
	cr_assert_eq(strlen(code->function), RUNTIME_NAME_SIZE - 1);
	/* Without its table, the function has its first line. */
	cr_assert_eq(line_at(6), 7);
}

Test(python, what_is_no_code_object_is_not_named)
{
	uint32_t state = 3 << 2 | 1 << 5; /* of no kind */

	put_word(CODE + 112, 8);
	cr_assert_eq(read_code(), -EFAULT);
	put_word(CODE + 112, FILE_NAME);
	put(FILE_NAME + 32, &state, sizeof(state));
	cr_assert_eq(read_code(), -ESTALE);
	put_word(CODE + 136, 8);
	cr_assert_eq(read_code(), -EFAULT);
	frame.code = 8;
	cr_assert_eq(read_code(), -EFAULT);
}
