// SPDX-License-Identifier: Apache-2.0
#include "tables/page.h"

#include <stdbool.h>
#include <string.h>

/*
 * The length of blocks trades size for time: a lookup reads half a block, and each block costs an
 * anchor.
 */
#define MEAN_BLOCK_ROWS 16

/* True if no block of that length has too many rows. */
static bool blocks_are_short(const struct page *page, uint8_t bits)
{
	uint16_t counts[DP_MAX_BLOCKS];
	uint16_t most = 0;

	memset(counts, 0, (DP_PAGE_SIZE >> bits) * sizeof(*counts));
	for (size_t i = 0; i < page->n_rows; i++) {
		uint16_t count = ++counts[page->rows[i].pc >> bits];

		if (count > most)
			most = count;
	}
	return most <= DP_BLOCK_ROWS;
}

uint8_t page_block_bits(const struct page *page)
{
	uint8_t bits = DP_PAGE_BITS;

	while (bits > DP_MIN_BLOCK_BITS && page->n_rows > (DP_PAGE_SIZE >> bits) * MEAN_BLOCK_ROWS)
		bits--;
	while (bits > DP_MIN_BLOCK_BITS && !blocks_are_short(page, bits))
		bits--;
	return bits;
}

/* A block being written. */
struct block {
	uint32_t pc; /* of its last row, or its start */
	uint32_t end;
	uint8_t *to;
};

/* True if a function's end and the next one's start become one delta. */
static bool is_padding(const struct page_row *row, const struct page_row *end,
		       const struct block *block)
{
	uint32_t aligned = (row->pc + DWARF_DELTA_ALIGN - 1U) & ~(DWARF_DELTA_ALIGN - 1U);

	return row->rule == DP_RULE_NONE && row + 1 < end && row[1].pc == aligned &&
	       aligned < block->end && row[1].code == 0 && row->pc - block->pc < 15 + 256;
}

/* Writes a row, or two if they are padding. Returns the next row. */
static const struct page_row *put_row(const struct page_row *row, const struct page_row *end,
				      const uint16_t *state_of, struct block *block)
{
	bool padding = is_padding(row, end, block);
	uint8_t code = padding ? DWARF_DELTA_PADDING : row->code;
	uint32_t distance = row->pc - block->pc;
	uint8_t *start = block->to++;

	if (distance < 15) {
		*start = (uint8_t)(distance - 1);
	} else if (distance < 15 + 256) {
		*start = DWARF_DELTA_BYTE;
		*block->to++ = (uint8_t)(distance - 15);
	} else {
		*start = DWARF_DELTA_WORD;
		*block->to++ = (uint8_t)distance;
		*block->to++ = (uint8_t)(distance >> 8);
	}
	*start |= (uint8_t)(code << 4);
	if (code == DWARF_DELTA_NUMBER) {
		*block->to++ = (uint8_t)state_of[row->rule];
		*block->to++ = (uint8_t)(state_of[row->rule] >> 8);
	}
	row += padding ? 2 : 1;
	block->pc = row[-1].pc;
	return row;
}

/*
 * The smallest stride with which each block can be reached: a block starts at its number times the
 * stride or up to 255 bytes behind. One that would start sooner is moved. The size of the longest
 * block is always enough.
 */
static uint32_t choose_stride(const uint8_t *sizes, uint32_t n, size_t size)
{
	uint32_t stride = size > UINT8_MAX ? ((uint32_t)size - UINT8_MAX + n - 1) / n : 0;

	if (stride == 0)
		return 0;
	for (;;) {
		uint32_t at = 0, i;

		for (i = 0; i < n && at <= i * stride + UINT8_MAX; i++)
			at = (at < i * stride ? i * stride : at) + sizes[i];
		if (at <= i * stride + UINT8_MAX)
			return stride;
		/* A larger stride would move the block back. */
		stride = (at - UINT8_MAX + i - 1) / i;
	}
}

/* Writes the blocks behind their anchors, whose `start` is known. Returns the size of all. */
static size_t put_blocks(const uint8_t *from, const uint8_t *sizes, uint32_t n, uint32_t stride,
			 uint8_t *to)
{
	uint8_t *rows = to + n * sizeof(struct dp_anchor) + 1;
	uint32_t at = 0;

	for (uint32_t i = 0; i <= n; i++) {
		if (at < i * stride) {
			memset(rows + at, DWARF_DELTA_END, i * stride - at);
			at = i * stride;
		}
		to[i * sizeof(struct dp_anchor)] = (uint8_t)(at - i * stride);
		if (i == n)
			break;
		memcpy(rows + at, from, sizes[i]);
		from += sizes[i];
		at += sizes[i];
	}
	/* Two anchors are read at once, and a byte behind the last one. */
	if (at == 0)
		rows[at++] = DWARF_DELTA_END;
	return (size_t)(rows - to) + at;
}

size_t page_write(const struct page *page, uint8_t block_bits, const struct page_codes *codes,
		  uint8_t ret_data[PAGE_MAX_DATA], uint8_t *ret_stride)
{
	const struct page_row *row = page->rows, *end = row + page->n_rows;
	uint8_t rows[DP_MAX_BLOCKS * DP_BLOCK_MAX_SIZE], sizes[DP_MAX_BLOCKS], *start = rows;
	uint32_t n = DP_PAGE_SIZE >> block_bits, stride;
	uint16_t rule = page->rule;

	for (uint32_t i = 0; i < n; i++) {
		struct block block = { i << block_bits, (i + 1) << block_bits, start };

		for (; row < end && row->pc == block.pc; row++)
			rule = row->rule;
		ret_data[i * sizeof(struct dp_anchor) + offsetof(struct dp_anchor, start)] =
			codes->start_of[rule];
		if (codes->start_of[rule] == DP_START_APART) {
			*block.to++ = (uint8_t)codes->state_of[rule];
			*block.to++ = (uint8_t)(codes->state_of[rule] >> 8);
		}
		while (row < end && row->pc < block.end) {
			row = put_row(row, end, codes->state_of, &block);
			rule = row[-1].rule;
		}
		sizes[i] = (uint8_t)(block.to - start);
		start = block.to;
	}
	stride = choose_stride(sizes, n, (size_t)(start - rows));
	*ret_stride = (uint8_t)stride;
	return put_blocks(rows, sizes, n, stride, ret_data);
}
