// SPDX-License-Identifier: Apache-2.0
/* Functions of V8 in memory, as version 11 has them; moved ones, and memory that lies. */
#include "runtimes/tests/v8_fixture.h"

TestSuite(v8, .init = set_up, .fini = tear_down);

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

/* As V8's String::CalculateLineEnds(): a line may also end at "\r", "\r\n", U+2028 and U+2029. */
Test(v8, ends_of_lines)
{
	static const uint16_t wide[] = { '1', 0x2028, 3,      0x2029, 5, 6, 7, 8,
					 9,   0,      0x2028, 1,      2, 3, 4 };
	const uint32_t length = 22;

	put_string(7, "1\r3\n567890\r234\n6789012");
	cr_assert_eq(read_code(), 0);
	expect_line(DP_V8_PLACE | 10, 3, 7);
	expect_line(DP_V8_PLACE | 12, 4, 2);

	put_string(7, "\r\n34567890\r\n2345678901");
	cr_assert_eq(read_code(), 0);
	expect_line(DP_V8_PLACE | 11, 2, 10);
	expect_line(DP_V8_PLACE | 12, 3, 1);

	put(make(7, WIDE) + 12, &length, sizeof(length));
	put(OBJECT(7) + 16, wide, sizeof(wide));
	cr_assert_eq(read_code(), 0);
	expect_line(DP_V8_PLACE | 10, 3, 7);
	expect_line(DP_V8_PLACE | 12, 4, 2);
}

/* Of a script without lines, columns are places. */
Test(v8, columns_of_first_line)
{
	put_string(7, "123456789012345678901234");
	cr_assert_eq(read_code(), 0);
	expect_line(DP_V8_PLACE | 0, 1, 1);
	expect_line(DP_V8_PLACE | 12, 1, 13);
}
