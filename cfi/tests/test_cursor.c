// SPDX-License-Identifier: Apache-2.0
/* Numbers of unwind information, written out as bytes: LEB128 (DWARF 5 §7.6) and bounds. */
#include <criterion/criterion.h>

#include "cfi/cursor.h"

static struct cursor over(const void *bytes, size_t size)
{
	struct cursor c;

	cursor_init(&c, bytes, 0, size);
	return c;
}

Test(cursor, reads_in_order_and_counts_offsets)
{
	static const uint8_t bytes[] = { 1, 2, 0, 3, 0, 0, 0 };
	struct cursor c = over(bytes, sizeof(bytes));
	uint8_t a;
	uint16_t b;
	uint32_t d;

	cr_assert(cursor_u8(&c, &a) == CFI_NONE && a == 1);
	cr_assert(cursor_u16(&c, &b) == CFI_NONE && b == 2);
	cr_assert(cursor_u32(&c, &d) == CFI_NONE && d == 3);
	cr_assert(cursor_offset(&c) == 7 && cursor_left(&c) == 0);
}

/* A read that does not fit moves nothing and marks where the value would have been. */
Test(cursor, refuses_to_read_beyond_its_end)
{
	static const uint8_t bytes[] = { 1, 2, 3 };
	struct cursor c = over(bytes, sizeof(bytes));
	uint32_t value = 77;
	uint8_t first;

	cr_assert(cursor_u8(&c, &first) == CFI_NONE);
	cr_assert(cursor_u32(&c, &value) == CFI_TRUNCATED);
	cr_assert(value == 77);
	cr_assert(cursor_offset(&c) == 1 && cursor_mark(&c) == 1);
}

struct leb {
	uint8_t bytes[20];
	size_t size;
	enum cfi_reason reason;
	uint64_t value;
};

Test(cursor, reads_unsigned_leb128)
{
	static const struct leb cases[] = {
		{ { 0x00 }, 1, CFI_NONE, 0 },
		{ { 0x7f }, 1, CFI_NONE, 127 },
		{ { 0x80, 0x01 }, 2, CFI_NONE, 128 },
		{ { 0xe5, 0x8e, 0x26 }, 3, CFI_NONE, 624485 },
		/* the largest number, and one bit more */
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 },
		  10,
		  CFI_NONE,
		  UINT64_MAX },
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02 },
		  10,
		  CFI_LEB_TOO_LONG,
		  0 },
		/* padded with zeros, as assemblers do */
		{ { 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00 },
		  12,
		  CFI_NONE,
		  1 },
		{ { 0x80, 0x80 }, 2, CFI_TRUNCATED, 0 },
		{ { 0 }, 0, CFI_TRUNCATED, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cursor c = over(cases[i].bytes, cases[i].size);
		uint64_t value = 0;
		enum cfi_reason r = cursor_uleb(&c, &value);

		cr_assert(r == cases[i].reason, "case %zu: %s", i, cfi_reason_word(r));
		cr_assert(value == cases[i].value, "case %zu", i);
		cr_assert(cursor_offset(&c) == (r == CFI_NONE ? cases[i].size : 0), "case %zu", i);
	}
}

Test(cursor, reads_signed_leb128)
{
	static const struct leb cases[] = {
		{ { 0x00 }, 1, CFI_NONE, 0 },
		{ { 0x7f }, 1, CFI_NONE, (uint64_t)-1 },
		{ { 0x78 }, 1, CFI_NONE, (uint64_t)-8 },
		{ { 0x3f }, 1, CFI_NONE, 63 },
		{ { 0xc0, 0x00 }, 2, CFI_NONE, 64 },
		{ { 0x80, 0x7f }, 2, CFI_NONE, (uint64_t)-128 },
		{ { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f },
		  10,
		  CFI_NONE,
		  (uint64_t)INT64_MIN },
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00 },
		  10,
		  CFI_NONE,
		  INT64_MAX },
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 },
		  10,
		  CFI_LEB_TOO_LONG,
		  0 },
		/* padded with copies of the sign */
		{ { 0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f },
		  12,
		  CFI_NONE,
		  (uint64_t)-8 },
		{ { 0xff }, 1, CFI_TRUNCATED, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cursor c = over(cases[i].bytes, cases[i].size);
		int64_t value = 0;
		enum cfi_reason r = cursor_sleb(&c, &value);

		cr_assert(r == cases[i].reason, "case %zu: %s", i, cfi_reason_word(r));
		cr_assert((uint64_t)value == cases[i].value, "case %zu: %ld", i, value);
	}
}

/* However long the padding, the number of bytes read for one value is bounded. */
Test(cursor, refuses_endless_padding)
{
	uint8_t bytes[64];
	struct cursor c;
	uint64_t u;
	int64_t s;

	memset(bytes, 0x80, sizeof(bytes));
	bytes[63] = 0;
	c = over(bytes, sizeof(bytes));
	cr_assert(cursor_uleb(&c, &u) == CFI_LEB_TOO_LONG);
	cr_assert(cursor_sleb(&c, &s) == CFI_LEB_TOO_LONG);
}
