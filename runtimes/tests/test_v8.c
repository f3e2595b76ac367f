// SPDX-License-Identifier: Apache-2.0
/* Functions of V8 in memory, as version 11 has them; moved ones, and memory that lies. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtimes/v8/v8.h"

#define PLACE 0x10000
#define TAG(address) ((address) | DP_V8_OBJECT_TAG)
#define SMI(value) ((uint64_t)(value) << DP_V8_SMI_SHIFT)

/* Types of objects, and where they are: each has room for 256 bytes. */
enum {
	STRING = 40,
	WIDE = 32,
	CONS = 41,
	THIN = 45,
	SLICED = 43,
	SCOPE = 261,
	SHARED,
	SCRIPT = 167
};
enum { BYTECODE = 191, BYTES = 190, ARRAY = 175, ODDBALL = 131, MAPS = PLACE + 0x3000 };
enum { STREAM = 240, CODE };
#define OBJECT(n) (PLACE + 0x100 * (uint64_t)(n))

static const struct dp_runtime_image image = {
	.v8 = { .function = 32,
		.context = 40,
		.offset = 8,
		.shared = 24,
		.name = 16,
		.script = 32 },
	.v8_names = { .instance_type = 12,
		      .type_shared = SHARED,
		      .type_scope_info = SCOPE,
		      .type_script = SCRIPT,
		      .type_bytecode = BYTECODE,
		      .type_bytes = BYTES,
		      .type_array = ARRAY,
		      .type_oddball = ODDBALL,
		      .first_nonstring = 128,
		      .encoding_mask = 8,
		      .one_byte = 8,
		      .representation_mask = 7,
		      .cons = 1,
		      .external = 2,
		      .sliced = 3,
		      .thin = 5,
		      .string_length = 12,
		      .one_byte_chars = 16,
		      .two_byte_chars = 16,
		      .cons_first = 16,
		      .cons_second = 24,
		      .thin_actual = 16,
		      .sliced_parent = 16,
		      .sliced_offset = 24,
		      .n_locals = 2,
		      .first_local = 3,
		      .script_name = 16,
		      .script_line_ends = 56,
		      .script_source = 8,
		      .array_length = 8,
		      .array_data = 16,
		      .bytecode_data = 54,
		      .type_code = CODE,
		      .type_stream = STREAM,
		      .stream_start = 32,
		      .deopt_literals = 2,
		      .deopt_inlined = 7,
		      .deopt_shared = 6 },
};

static uint8_t bytes[0x8000];
static struct runtime_code *code;
static struct dp_runtime_frame frame;

static int read_bytes(void *arg, void *ret, size_t size, uint64_t address)
{
	if (address < PLACE || address - PLACE > sizeof(bytes) ||
	    size > sizeof(bytes) - (address - PLACE))
		return -EFAULT;
	memcpy(ret, bytes + (address - PLACE), size);
	return 0;
}

static const struct runtime_memory memory = { read_bytes, NULL, NULL };

static void put(uint64_t address, const void *from, size_t size)
{
	memcpy(bytes + (address - PLACE), from, size);
}

static void put_word(uint64_t address, uint64_t value)
{
	put(address, &value, sizeof(value));
}

/* Makes object n one of a type. Returns its address. */
static uint64_t make(unsigned int n, uint16_t type)
{
	uint64_t map = MAPS + 16 * (uint64_t)n;

	put_word(OBJECT(n), TAG(map));
	put(map + 12, &type, sizeof(type));
	return OBJECT(n);
}

static void put_string(unsigned int n, const char *text)
{
	uint32_t length = (uint32_t)strlen(text);
	uint64_t at = make(n, STRING);

	put(at + 12, &length, sizeof(length));
	put(at + 16, text, length);
}

/* A string of two others, or of one. */
static void put_joined(unsigned int n, uint16_t type, unsigned int first, unsigned int second)
{
	uint64_t at = make(n, type);

	put_word(at + 16, TAG(OBJECT(first)));
	put_word(at + 24, TAG(OBJECT(second)));
}

/*
 * A function "work", in lines 3 and 4 of /a.js. Its bytecode is in line 3, from byte 5 on in line 4. A
 * word in front of its scope's name is the number of a variable of a class.
 */
static void set_up(void)
{
	static const uint64_t scope[] = { SMI(0),         SMI(0),  SMI(1),         TAG(OBJECT(2)),
					  SMI(9),         SMI(4),  TAG(OBJECT(2)), SMI(7),
					  TAG(OBJECT(3)), SMI(10), SMI(20),        TAG(OBJECT(1)) };
	/* positions 10 at 0, not a statement; 12 at 5 */
	static const uint8_t table[] = { 0x01, 0xac, 0x00, 0x0a, 0x08 };

	memset(bytes, 0, sizeof(bytes));
	put_word(make(0, SHARED) + 8, TAG(OBJECT(6)));
	put_word(OBJECT(0) + 16, TAG(OBJECT(1)));
	put_word(OBJECT(0) + 32, TAG(OBJECT(4)));
	make(1, SCOPE);
	for (size_t i = 0; i < sizeof(scope) / sizeof(*scope); i++)
		put_word(OBJECT(1) + 8 + 8 * i, scope[i]);
	put_string(2, "work");
	put_string(3, "inferred");
	put_string(5, "/a.js");
	put_string(7, "1\n3\n567890\n234\n6789012");
	put_word(make(4, SCRIPT) + 8, TAG(OBJECT(7)));
	put_word(OBJECT(4) + 16, TAG(OBJECT(5)));
	put_word(OBJECT(4) + 56, TAG(OBJECT(11)));
	make(11, ODDBALL);
	put_word(make(6, BYTECODE) + 8, SMI(10));
	put_word(OBJECT(6) + 16, TAG(OBJECT(8)));
	put_word(OBJECT(6) + 24, TAG(OBJECT(9)));
	put_word(OBJECT(6) + 32, TAG(OBJECT(10)));
	make(8, ARRAY);
	make(9, BYTES);
	put_word(make(10, BYTES) + 8, SMI(sizeof(table)));
	put(OBJECT(10) + 16, table, sizeof(table));
	frame = (struct dp_runtime_frame){
		.code = TAG(OBJECT(0)),
		.tag = v8_tag(TAG(OBJECT(1)), TAG(OBJECT(4))),
	};
	code = NULL;
}

static void tear_down(void)
{
	free(code);
}

TestSuite(v8, .init = set_up, .fini = tear_down);

static int read_code(void)
{
	free(code);
	code = NULL;
	return runtime_v8.read(&image, &frame, &memory, &code);
}

static unsigned int line_at(uint32_t offset)
{
	frame.position = offset + 53;
	return runtime_v8.line(&image, code, &frame);
}

static unsigned int column_at(uint32_t offset)
{
	frame.position = offset + 53;
	return runtime_v8.column(&image, code, &frame);
}

static void expect_name(const char *name)
{
	cr_assert_eq(read_code(), 0);
	cr_assert_str_eq(code->function, name);
}

Test(v8, function)
{
	expect_name("work");
	cr_assert_str_eq(code->file, "/a.js");
	cr_assert_eq(code->first_line, 3);
	cr_assert_eq(line_at(0), 3);
	cr_assert_eq(line_at(4), 3);
	cr_assert_eq(line_at(5), 4);
	cr_assert_eq(column_at(4), 7);
	cr_assert_eq(column_at(5), 2);
	frame.position = 0;
	cr_assert_eq(runtime_v8.line(&image, code, &frame), 3);
	cr_assert_eq(runtime_v8.column(&image, code, &frame), 0);
}

Test(v8, list_of_lines)
{
	static const uint32_t ends[] = { 1, 3, 10, 14, 22 };

	put_word(make(12, ARRAY) + 8, SMI(5));
	for (size_t i = 0; i < 5; i++)
		put_word(OBJECT(12) + 16 + 8 * i, SMI(ends[i]));
	put_word(OBJECT(4) + 56, TAG(OBJECT(12)));
	put_word(OBJECT(4) + 8, 0);
	cr_assert_eq(read_code(), 0);
	cr_assert_eq(code->first_line, 3);
	cr_assert_eq(line_at(5), 4);
	cr_assert_eq(column_at(4), 7);
	cr_assert_eq(column_at(5), 2);
}

/* Since V8 12, the positions come first. */
Test(v8, other_order)
{
	put_word(OBJECT(6) + 24, TAG(OBJECT(10)));
	put_word(OBJECT(6) + 32, TAG(OBJECT(9)));
	put_word(OBJECT(6) + 40, TAG(OBJECT(8)));
	put_word(OBJECT(6) + 16, TAG(OBJECT(11)));
	cr_assert_eq(read_code(), 0);
	cr_assert_eq(line_at(5), 4);
}

Test(v8, strings)
{
	static const uint16_t wide[] = { 'a', 0xe9, 0xd83d, 0xde00, 0xd83d };
	uint32_t length = 5;

	put_joined(20, CONS, 2, 3);
	put_joined(21, THIN, 20, 0);
	put_word(OBJECT(0) + 16, TAG(OBJECT(21)));
	frame.tag = v8_tag(TAG(OBJECT(21)), TAG(OBJECT(4)));
	expect_name("workinferred");

	put_joined(21, SLICED, 3, 0);
	put_word(OBJECT(21) + 24, SMI(2));
	length = 4;
	put(OBJECT(21) + 12, &length, sizeof(length));
	expect_name("ferr");

	length = 5;
	put(make(21, WIDE) + 12, &length, sizeof(length));
	put(OBJECT(21) + 16, wide, sizeof(wide));
	expect_name("a\xc3\xa9\xf0\x9f\x98\x80?");
}

/* A function without a name has the one that was inferred, or none. */
Test(v8, anonymous)
{
	put_string(2, "");
	expect_name("inferred");
	put_string(3, "");
	expect_name("(anonymous)");
	put_word(OBJECT(0) + 16, 0);
	frame.tag = v8_tag(0, TAG(OBJECT(4)));
	expect_name("(anonymous)");
}

Test(v8, moved)
{
	uint64_t tag = frame.tag;

	frame.tag++;
	cr_assert_eq(read_code(), -ESTALE);
	frame.tag = tag;
	make(0, SCRIPT);
	cr_assert_eq(read_code(), -ESTALE);
	frame.code = OBJECT(0);
	cr_assert_eq(read_code(), -ESTALE);
	frame.code = TAG(0xdead0000);
	cr_assert_eq(read_code(), -EFAULT);
}

/* Strings that contain themselves, or are longer than memory; scopes without an end. */
Test(v8, forged)
{
	uint32_t length = UINT32_MAX;

	put_joined(2, CONS, 2, 2);
	cr_assert_eq(read_code(), -ESTALE);
	put_joined(2, THIN, 2, 0);
	cr_assert_eq(read_code(), -ESTALE);
	put_joined(2, SLICED, 3, 0);
	put_word(OBJECT(2) + 24, SMI(7));
	put(OBJECT(2) + 12, &length, sizeof(length));
	cr_assert_eq(read_code(), -ESTALE);
	put_string(2, "work");
	put_word(OBJECT(1) + 8 + 16, SMI(1 << 20));
	cr_assert_eq(read_code(), -ESTALE);
	put_word(OBJECT(1) + 8 + 16, SMI(1));
	put_word(OBJECT(1) + 8 + 80, SMI(1 << 30));
	put_word(OBJECT(10) + 8, SMI(1 << 30));
	expect_name("work");
	cr_assert_eq(code->first_line, 0);
}

#define NOT_INLINED (-1)

/* A source position: its place, in that inlined call. */
static uint64_t position_of(uint32_t place, int inlined)
{
	return (uint64_t)(place + 1) << 1 | (uint64_t)(inlined + 1) << 31;
}

/* Appends a number in groups of 7 bits, of which the first one has its sign. */
static void put_number(uint64_t *at, int64_t value)
{
	uint64_t rest = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);

	do {
		uint8_t byte = (uint8_t)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));

		put((*at)++, &byte, sizeof(byte));
		rest >>= 7;
	} while (rest > 0);
}

static void put_call(unsigned int number, uint64_t position)
{
	put_word(OBJECT(35) + 16 + 16 * (uint64_t)number, position);
	put_word(OBJECT(35) + 24 + 16 * (uint64_t)number, 0);
}

/* The first positions of the code below. */
static void put_positions(size_t n)
{
	static const struct {
		uint8_t offset, place;
		int8_t inlined;
	} positions[] = {
		{ 4, 10, NOT_INLINED }, { 8, 40, 1 }, { 16, 33, 0 }, { 24, 14, NOT_INLINED }
	};
	uint64_t at = OBJECT(33) + 16, last = 0;
	uint8_t offset = 0;

	make(33, BYTES);
	for (size_t i = 0; i < n; i++) {
		uint64_t position = position_of(positions[i].place, positions[i].inlined);

		put_number(&at, positions[i].offset - offset);
		put_number(&at, (int64_t)(position - last));
		offset = positions[i].offset;
		last = position;
	}
	put_word(OBJECT(33) + 8, SMI(at - OBJECT(33) - 16));
}

/*
 * Code of "work" that begins at OBJECT(30) + 32. At its place 12 another function is inlined, and at place 30
 * of that the same one again. Calls are at 4 in itself, at 8 in the inner one, at 16 in the outer one, at 24
 * in itself.
 */
static void put_compiled(void)
{
	put_word(make(30, STREAM) + 8, TAG(OBJECT(31)));
	put_word(make(31, CODE) + 8, TAG(OBJECT(32)));
	put_word(OBJECT(31) + 16, TAG(OBJECT(33)));
	put_word(make(32, ARRAY) + 8, SMI(8));
	put_word(OBJECT(32) + 16 + 8 * 2, TAG(OBJECT(34)));
	put_word(OBJECT(32) + 16 + 8 * 6, frame.code);
	put_word(OBJECT(32) + 16 + 8 * 7, TAG(OBJECT(35)));
	put_word(make(34, ARRAY) + 8, SMI(1));
	put_word(OBJECT(34) + 16, TAG(OBJECT(36)));
	put_word(make(35, BYTES) + 8, SMI(2 * 16));
	put_call(0, position_of(12, NOT_INLINED));
	put_call(1, position_of(30, 0));
	put_word(make(36, SHARED) + 16, TAG(OBJECT(2)));
	put_word(OBJECT(36) + 32, TAG(OBJECT(4)));
	put_positions(4);
}

static struct dp_runtime_frame expanded[RUNTIME_MAX_INLINED];

static int expand(uint64_t offset, uint64_t flags)
{
	frame.position = DP_V8_COMPILED | flags | (OBJECT(30) + 32 + offset);
	return runtime_v8.expand(&image, &frame, &memory, expanded);
}

static void expect_frame(int i, unsigned int object, uint32_t place)
{
	cr_expect_eq(expanded[i].code, TAG(OBJECT(object)));
	cr_expect_eq(expanded[i].position, DP_V8_PLACE | place);
}

/* A return address is behind its call. */
Test(v8, inlined_calls)
{
	put_compiled();
	cr_assert_eq(expand(8, 0), 1);
	expect_frame(0, 0, 10);
	cr_assert_eq(expand(9, 0), 3);
	expect_frame(0, 36, 40);
	expect_frame(1, 36, 30);
	expect_frame(2, 0, 12);
	cr_expect_eq(expanded[2].tag, frame.tag);
	frame = expanded[0];
	expect_name("work");
	cr_assert_eq(expand(4, 0), 0);
}

/* Between two calls it is in what both are in. */
Test(v8, inlined_leaf)
{
	put_compiled();
	cr_assert_eq(expand(8, DP_V8_EXACT), 2);
	expect_frame(0, 36, 30);
	expect_frame(1, 0, 12);
	cr_assert_eq(expand(17, DP_V8_EXACT), 1);
	expect_frame(0, 0, 12);
	cr_assert_eq(expand(30, DP_V8_EXACT), 1);
	expect_frame(0, 0, 14);
}

/* Behind the last one it need not be in what that is in. */
Test(v8, inlined_last_call)
{
	put_compiled();
	put_positions(3);
	cr_assert_eq(expand(17, 0), 2);
	cr_assert_eq(expand(17, DP_V8_EXACT), 1);
	expect_frame(0, 0, 12);
}

static void expect_line(uint64_t position, unsigned int line, unsigned int column)
{
	frame.position = position;
	cr_expect_eq(runtime_v8.line(&image, code, &frame), line);
	cr_expect_eq(runtime_v8.column(&image, code, &frame), column);
}

/* A place has its line, whatever the bytecode says. */
Test(v8, lines_of_places)
{
	cr_assert_eq(read_code(), 0);
	expect_line(DP_V8_PLACE | 10, 3, 7);
	expect_line(DP_V8_PLACE | 12, 4, 2);
	expect_line(DP_V8_PLACE | 2, 3, 0);
	expect_line(DP_V8_PLACE | UINT32_MAX, 3, 0);
	expect_line(DP_V8_COMPILED | 12, 3, 0);
}

/* Of a script without lines, columns are places. */
Test(v8, columns_of_first_line)
{
	put_string(7, "123456789012345678901234");
	cr_assert_eq(read_code(), 0);
	expect_line(DP_V8_PLACE | 0, 1, 1);
	expect_line(DP_V8_PLACE | 12, 1, 13);
}

/* Calls that contain themselves, code of another function, and functions that are none. */
Test(v8, forged_inlined_calls)
{
	put_compiled();
	put_call(1, position_of(30, 1));
	cr_expect_eq(expand(9, 0), 0);
	put_call(1, position_of(30, 2));
	cr_expect_eq(expand(9, 0), 0);
	put_call(1, position_of(30, 0));
	make(36, SCRIPT);
	cr_expect_eq(expand(9, 0), 0);
	make(36, SHARED);
	put_word(OBJECT(34) + 8, SMI(0));
	cr_expect_eq(expand(9, 0), 0);
	put_word(OBJECT(34) + 8, SMI(1));
	cr_expect_eq(expand(9, 0), 3);
	put_word(OBJECT(32) + 16 + 8 * 6, TAG(OBJECT(36)));
	cr_expect_eq(expand(9, 0), 0);
	frame.position = DP_V8_COMPILED | (PLACE + 8);
	cr_expect_eq(runtime_v8.expand(&image, &frame, &memory, expanded), -EFAULT);
}

/* What is inlined is looked up only if all that it takes is known, and only for instructions. */
Test(v8, inlined_calls_not_described)
{
	struct dp_runtime_image partial = image;
	__u16 *const members[] = { &partial.v8_names.type_stream, &partial.v8_names.stream_start,
				   &partial.v8_names.deopt_literals,
				   &partial.v8_names.deopt_inlined,
				   &partial.v8_names.deopt_shared };

	put_compiled();
	cr_expect_eq(expand(9, 0), 3);
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		__u16 known = *members[i];

		*members[i] = 0;
		/* Nor is memory read. */
		frame.position = DP_V8_COMPILED | (PLACE + 8);
		cr_expect_eq(runtime_v8.expand(&partial, &frame, &memory, expanded), 0);
		*members[i] = known;
	}
	cr_expect_eq(expand((uint64_t)-16, 0), 0);
	cr_expect_eq(expand(0, 0), 0);
}
