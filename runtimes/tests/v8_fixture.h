/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RUNTIMES_TESTS_V8_FIXTURE_H
#define DP_RUNTIMES_TESTS_V8_FIXTURE_H

/* A process's memory with a function of V8, as version 11 has them. */
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
/* Bytecodes; with a prefix, the second one is longer by 3. */
enum { PREFIX = 1, SHORT = 10, LONG };
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
		      .deopt_shared = 6,
		      .bytecode_lengths = { [SHORT] = 2, [LONG] = 1 << 4 | 3 } },
};

static uint8_t bytes[0x8000];
static struct runtime_code *code;
static struct dp_runtime_frame frame;

static inline int read_bytes(void *arg, void *ret, size_t size, uint64_t address)
{
	if (address < PLACE || address - PLACE > sizeof(bytes) ||
	    size > sizeof(bytes) - (address - PLACE))
		return -EFAULT;
	memcpy(ret, bytes + (address - PLACE), size);
	return 0;
}

static const struct runtime_memory memory = { read_bytes, NULL, NULL };

static inline void put(uint64_t address, const void *from, size_t size)
{
	memcpy(bytes + (address - PLACE), from, size);
}

static inline void put_word(uint64_t address, uint64_t value)
{
	put(address, &value, sizeof(value));
}

/* Makes object n one of a type. Returns its address. */
static inline uint64_t make(unsigned int n, uint16_t type)
{
	uint64_t map = MAPS + 16 * (uint64_t)n;

	put_word(OBJECT(n), TAG(map));
	put(map + 12, &type, sizeof(type));
	return OBJECT(n);
}

static inline void put_string(unsigned int n, const char *text)
{
	uint32_t length = (uint32_t)strlen(text);
	uint64_t at = make(n, STRING);

	put(at + 12, &length, sizeof(length));
	put(at + 16, text, length);
}

/* A string of two others, or of one. */
static inline void put_joined(unsigned int n, uint16_t type, unsigned int first,
			      unsigned int second)
{
	uint64_t at = make(n, type);

	put_word(at + 16, TAG(OBJECT(first)));
	put_word(at + 24, TAG(OBJECT(second)));
}

/*
 * A function "work", in lines 3 and 4 of /a.js. Its bytecode is in line 3, from byte 5 on in line 4. A
 * word in front of its scope's name is the number of a variable of a class.
 */
static inline void set_up(void)
{
	static const uint64_t scope[] = { SMI(0),         SMI(0),  SMI(1),         TAG(OBJECT(2)),
					  SMI(9),         SMI(4),  TAG(OBJECT(2)), SMI(7),
					  TAG(OBJECT(3)), SMI(10), SMI(20),        TAG(OBJECT(1)) };
	/* positions 10 at the entry, not a statement; 12 at 5 */
	static const uint8_t table[] = { 0x01, 0xac, 0x00, 0x0c, 0x08 };

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

static inline void tear_down(void)
{
	free(code);
}

static inline int read_code(void)
{
	free(code);
	code = NULL;
	return runtime_v8.read(&image, &frame, &memory, &code);
}

static inline void expect_name(const char *name)
{
	cr_assert_eq(read_code(), 0);
	cr_assert_str_eq(code->function, name);
}

static inline void expect_line(uint64_t position, unsigned int line, unsigned int column)
{
	frame.position = position;
	cr_expect_eq(runtime_v8.line(&image, code, &frame), line);
	cr_expect_eq(runtime_v8.column(&image, code, &frame), column);
}

#endif
