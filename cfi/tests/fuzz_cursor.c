// SPDX-License-Identifier: Apache-2.0
/*
 * Numbers and pointers, compared with a second reading in wider arithmetic.
 * Input: address of the section (8), count of reads (1), the reads (2 each:
 * what, and the encoding of a pointer), the section.
 */
#include <dwarf.h>

#include "cfi/tests/fuzz.h"

/* A number from the second implementation. */
struct number {
	enum cfi_reason reason; /* CFI_N_REASONS: not determined by the value alone */
	uint64_t value;
	size_t size;
};

__extension__ typedef __int128 wide;

/* The longest one that the cursor accepts has 112 bits, sign included. */
#define LEB_MAX_SIZE 16

static struct number number_from_leb(const uint8_t *p, size_t n, bool is_signed)
{
	wide value = 0;
	size_t size = 0;

	while (size < n && (p[size] & 0x80))
		size++;
	if (size == n)
		return (struct number){ .reason = CFI_N_REASONS };
	size++;
	if (size > LEB_MAX_SIZE)
		return (struct number){ .reason = CFI_LEB_TOO_LONG };
	for (size_t i = size; i > 0; i--)
		value = value * 128 + (p[i - 1] & 0x7f);
	if (is_signed && (p[size - 1] & 0x40))
		value -= (wide)1 << 7 * size;
	if (is_signed ? value != (int64_t)value : value != (uint64_t)value)
		return (struct number){ .reason = CFI_LEB_TOO_LONG };
	return (struct number){ CFI_NONE, (uint64_t)value, size };
}

static struct number number_from_bytes(const uint8_t *p, size_t n, size_t size, bool is_signed)
{
	struct number number = { .size = size };

	if (n < size)
		return (struct number){ .reason = CFI_TRUNCATED };
	for (size_t i = 0; i < size; i++)
		number.value |= (uint64_t)p[i] << 8 * i;
	if (is_signed && size < 8 && (p[size - 1] & 0x80))
		number.value -= UINT64_C(1) << 8 * size;
	return number;
}

/* LSB Core 5.0 §10.5 */
static struct number number_from_pointer(const struct cfi_section *section, const uint8_t *p,
					 size_t n, uint8_t encoding)
{
	static const uint8_t sizes[16] = {
		[0] = 8, [2] = 2, [3] = 4, [4] = 8, [8] = 0, [10] = 2, [11] = 4, [12] = 8
	};
	uint8_t format = encoding & 15;
	struct number number;

	if (format == 1 || format == 9)
		number = number_from_leb(p, n, format == 9);
	else if (sizes[format] == 0)
		return (struct number){ .reason = CFI_BAD_ENCODING };
	else
		number = number_from_bytes(p, n, sizes[format], format >= 8);
	if (number.reason != CFI_NONE)
		return number;
	if (encoding >> 4 == 1)
		number.value += section->address + (uint64_t)(p - section->data);
	else if (encoding >> 4 != 0)
		number.reason = CFI_BAD_ENCODING;
	return number;
}

static struct number number_read(const struct cfi_section *section, struct cursor *c, uint8_t what,
				 uint8_t encoding, struct number *ret_expected)
{
	size_t left = (size_t)cursor_left(c);
	struct number number = { 0 };
	uint32_t word;

	switch (what & 3) {
	case 0:
		*ret_expected = number_from_leb(c->pos, left, false);
		number.reason = cursor_uleb(c, &number.value);
		break;
	case 1:
		*ret_expected = number_from_leb(c->pos, left, true);
		number.reason = cursor_sleb(c, (int64_t *)&number.value);
		break;
	case 2:
		*ret_expected = number_from_bytes(c->pos, left, sizeof(word), false);
		number.reason = cursor_u32(c, &word);
		number.value = number.reason == CFI_NONE ? word : 0;
		break;
	default:
		*ret_expected = number_from_pointer(section, c->pos, left, encoding);
		number.reason = cfi_read_pointer(section, c, encoding, &number.value);
	}
	return number;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, data + size }, reads;
	uint64_t address = feed_u64(&feed);
	size_t n_reads = feed_u8(&feed) * 2UL;
	struct cfi_section section;
	struct cursor c;

	if (n_reads > (size_t)(feed.end - feed.pos))
		return 0;
	reads = (struct feed){ feed.pos, feed.pos + n_reads };
	feed.pos = reads.end;
	section = feed_section(&feed, address, false);
	if (!section.data)
		return 0;
	cursor_init(&c, section.data, 0, section.size);
	while (reads.pos < reads.end) {
		uint8_t what = feed_u8(&reads), encoding = feed_u8(&reads);
		const uint8_t *before = c.pos;
		struct number got, expected;

		got = number_read(&section, &c, what, encoding, &expected);
		EXPECT(c.pos >= before && c.pos <= c.end);
		EXPECT(c.mark == before);
		if (got.reason != CFI_NONE) {
			EXPECT(got.reason == expected.reason ||
			       (expected.reason == CFI_N_REASONS &&
				(got.reason == CFI_TRUNCATED || got.reason == CFI_LEB_TOO_LONG)));
			c.pos = before + (before < c.end);
			continue;
		}
		EXPECT(expected.reason == CFI_NONE);
		EXPECT(got.value == expected.value);
		EXPECT(c.pos == before + expected.size);
	}
	return 0;
}
