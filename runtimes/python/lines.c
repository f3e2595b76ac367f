// SPDX-License-Identifier: Apache-2.0
/*
 * The line tables of code objects: co_lnotab up to 3.9 (Objects/lnotab_notes.txt), co_linetable of 3.10
 * (PEP 626), and of later versions (Objects/locations.md).
 */
#include "runtimes/python/python.h"

/* Pairs: bytes of instructions, and a signed difference of lines that holds behind them. */
static unsigned int line_3_8(const uint8_t *table, size_t size, int first, int64_t offset)
{
	int64_t at = 0, line = first;

	for (size_t i = 0; i + 1 < size; i += 2) {
		at += table[i];
		if (at > offset)
			break;
		line += (int8_t)table[i + 1];
	}
	return line > 0 ? (unsigned int)line : 0;
}

/* Pairs: bytes of instructions, and the difference of their line to that before; -128: no line. */
static unsigned int line_3_10(const uint8_t *table, size_t size, int first, int64_t offset)
{
	int64_t at = 0, line = first;

	for (size_t i = 0; i + 1 < size; i += 2) {
		int8_t difference = (int8_t)table[i + 1];

		at += table[i];
		if (difference != INT8_MIN)
			line += difference;
		if (at > offset)
			return difference != INT8_MIN && line > 0 ? (unsigned int)line : 0;
	}
	return 0;
}

/* A number in groups of six bits, lowest first; the seventh says that another follows. */
static uint32_t read_number(const uint8_t *table, size_t size, size_t *at)
{
	uint32_t number = 0;

	for (unsigned int shift = 0; *at < size && shift < 32; shift += 6) {
		uint8_t byte = table[(*at)++];

		number |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return number;
}

/* Its sign is the lowest bit. */
static int64_t read_signed(const uint8_t *table, size_t size, size_t *at)
{
	uint32_t number = read_number(table, size, at);

	return number & 1 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
}

/* Kinds of entries. */
enum { ONE_LINE_FIRST = 10, ONE_LINE_LAST = 12, NO_COLUMNS = 13, LONG = 14, NO_LINE = 15 };

/* An entry's first byte has its kind and number of two-byte units; only first bytes have the top bit. */
static unsigned int line_3_11(const uint8_t *table, size_t size, int first, int64_t offset)
{
	int64_t at = 0, line = first;

	for (size_t i = 0; i < size;) {
		unsigned int kind = table[i] >> 3 & 15;

		at += 2 * ((table[i] & 7) + 1);
		i++;
		if (kind == NO_COLUMNS || kind == LONG)
			line += read_signed(table, size, &i);
		else if (kind >= ONE_LINE_FIRST && kind <= ONE_LINE_LAST)
			line += kind - ONE_LINE_FIRST;
		if (at > offset)
			return kind != NO_LINE && line > 0 ? (unsigned int)line : 0;
		while (i < size && !(table[i] & 128))
			i++;
	}
	return 0;
}

unsigned int python_line(uint32_t version, const uint8_t *table, size_t size, int first,
			 int64_t offset)
{
	if (offset < 0)
		return first > 0 ? (unsigned int)first : 0;
	if (version >= 0x30b)
		return line_3_11(table, size, first, offset);
	return version == 0x30a ? line_3_10(table, size, first, offset) :
				  line_3_8(table, size, first, offset);
}
