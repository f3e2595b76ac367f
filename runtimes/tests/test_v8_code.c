// SPDX-License-Identifier: Apache-2.0
/* Compiled code of V8 in memory: what is inlined there, and which bytecode it is. */
#include "runtimes/tests/v8_fixture.h"

TestSuite(v8_code, .init = set_up, .fini = tear_down);

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
	int offset = -1;

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
Test(v8_code, inlined_calls)
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
Test(v8_code, inlined_leaf)
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
Test(v8_code, inlined_last_call)
{
	put_compiled();
	put_positions(3);
	cr_assert_eq(expand(17, 0), 2);
	cr_assert_eq(expand(17, DP_V8_EXACT), 1);
	expect_frame(0, 0, 12);
}

/* Calls that contain themselves, code of another function, and functions that are none. */
Test(v8_code, forged_inlined_calls)
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

/*
 * Code of "work" by the baseline compiler. Its bytecode begins at 0, 2 and 5, the code of that at 8, 12 and
 * 18, and ends at 218.
 */
static void put_baseline(void)
{
	static const uint8_t bytecode[] = { SHORT, 0, LONG, 0, 0, PREFIX, LONG };
	static const uint8_t table[] = { 8, 4, 6, 0xc8, 0x01 };

	put_compiled();
	put_word(OBJECT(6) + 8, SMI(12));
	put(OBJECT(6) + 54, bytecode, sizeof(bytecode));
	put_word(OBJECT(31) + 8, TAG(OBJECT(6)));
	put_word(make(33, BYTES) + 8, SMI(sizeof(table)));
	put(OBJECT(33) + 16, table, sizeof(table));
}

static void expect_bytecode(uint64_t offset, uint64_t flags, uint32_t bytecode)
{
	cr_assert_eq(expand(offset, flags), 1);
	cr_expect_eq(expanded[0].code, frame.code);
	cr_expect_eq(expanded[0].tag, frame.tag);
	cr_expect_eq(expanded[0].position, bytecode + 53);
}

Test(v8_code, baseline)
{
	put_baseline();
	expect_bytecode(8, DP_V8_EXACT, 0);
	expect_bytecode(12, 0, 0);
	expect_bytecode(12, DP_V8_EXACT, 2);
	expect_bytecode(18, 0, 2);
	expect_bytecode(218, 0, 5);
	cr_expect_eq(expand(8, 0), 0);
	cr_expect_eq(expand(218, DP_V8_EXACT), 0);
	/* The function has its code, which leads to its bytecode. */
	put_word(OBJECT(0) + 8, TAG(OBJECT(31)));
	expect_bytecode(218, 0, 5);
	cr_assert_eq(read_code(), 0);
	expect_line(expanded[0].position, 4, 2);
}

/* A prefix doubles operands, or quadruples them. */
Test(v8_code, baseline_prefix)
{
	static const uint8_t table[] = { 8, 4, 6, 4, 2 }, next = SHORT, other = PREFIX - 1;

	put_baseline();
	put_word(OBJECT(6) + 8, SMI(14));
	put(OBJECT(33) + 16, table, sizeof(table));
	put(OBJECT(6) + 54 + 12, &next, 1);
	expect_bytecode(24, 0, 12);
	put(OBJECT(6) + 54 + 5, &other, 1);
	cr_expect_eq(expand(24, 0), 0);
	put(OBJECT(6) + 54 + 10, &next, 1);
	expect_bytecode(24, 0, 10);
}

/* Tables that are too short, bytecode that is not known, and that of another function. */
Test(v8_code, forged_baseline)
{
	static const uint8_t unknown = LONG + 1;

	put_baseline();
	put_word(OBJECT(33) + 8, SMI(2));
	cr_expect_eq(expand(18, 0), 0);
	put_word(OBJECT(33) + 8, SMI(5));
	put_word(OBJECT(6) + 8, SMI(6));
	cr_expect_eq(expand(218, 0), 0);
	put_word(OBJECT(6) + 8, SMI(12));
	expect_bytecode(18, 0, 2);
	put(OBJECT(6) + 54, &unknown, 1);
	cr_expect_eq(expand(18, 0), 0);
	cr_expect_eq(expand(12, 0), 0);
	put_baseline();
	make(12, BYTECODE);
	put_word(OBJECT(0) + 8, TAG(OBJECT(12)));
	cr_expect_eq(expand(18, 0), 0);
}

/* Before V8 11, a Code has its instructions. */
Test(v8_code, inlined_calls_of_older_version)
{
	struct dp_runtime_image older = image;

	older.v8_names.type_stream = CODE;
	put_compiled();
	make(30, CODE);
	put_word(OBJECT(30) + 8, TAG(OBJECT(33)));
	put_word(OBJECT(30) + 16, TAG(OBJECT(32)));
	put_word(OBJECT(30) + 24, TAG(OBJECT(33)));
	frame.position = DP_V8_COMPILED | (OBJECT(30) + 32 + 9);
	cr_assert_eq(runtime_v8.expand(&older, &frame, &memory, expanded), 3);
	expect_frame(0, 36, 40);
	expect_frame(2, 0, 12);
}

static int expand_partial(uint16_t *member, const struct dp_runtime_image *partial)
{
	uint16_t known = *member;
	int n;

	*member = 0;
	n = runtime_v8.expand(partial, &frame, &memory, expanded);
	*member = known;
	return n;
}

/* What is inlined is looked up only if all that it takes is known, and only for instructions. */
Test(v8_code, inlined_calls_not_described)
{
	struct dp_runtime_image partial = image;
	struct dp_v8_names *n = &partial.v8_names;

	put_compiled();
	cr_expect_eq(expand(9, 0), 3);
	cr_expect_eq(expand_partial(&n->deopt_literals, &partial), 0);
	cr_expect_eq(expand_partial(&n->deopt_inlined, &partial), 0);
	cr_expect_eq(expand_partial(&n->deopt_shared, &partial), 0);
	/* Nor is memory read. */
	frame.position = DP_V8_COMPILED | (PLACE + 8);
	cr_expect_eq(expand_partial(&n->type_stream, &partial), 0);
	cr_expect_eq(expand_partial(&n->stream_start, &partial), 0);
	cr_expect_eq(expand((uint64_t)-16, 0), 0);
	cr_expect_eq(expand(0, 0), 0);
}
