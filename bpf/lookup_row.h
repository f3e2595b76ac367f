/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_LOOKUP_ROW_H
#define DP_BPF_LOOKUP_ROW_H

/* Finds the number of the rule for an address in an image: page, block, row. */

#include "bpf/abi.h"
#include "bpf/port.h"

/* The rows of a block, and the position in them. */
struct lookup_block {
	const __u8 *dictionary; /* the segment in which the image starts */
	const __u8 *data;       /* the segment in which the page's data lies */
	__u64 states;           /* offset of the states in `dictionary` */
	__u64 at, end;          /* offsets in `data` */
	__u64 state;
	__u64 low;  /* the address's low bits */
	__u64 left; /* bytes of code from here to the address */
};

/* The segment of a cell; usually the one in which the image starts. */
static __always_inline const __u8 *lookup_segment(struct walk *w, __u32 cell, __u32 start,
						  const __u8 *segment)
{
	return cell / DP_SEGMENT_CELLS == start / DP_SEGMENT_CELLS ? segment :
								     port_segment(w, cell);
}

static __always_inline __u64 lookup_byte(__u32 cell)
{
	return (__u64)(cell % DP_SEGMENT_CELLS) * DP_CELL_SIZE;
}

/*
 * Reads rows from a block's start until one starts above the address. Returns the state in force.
 */
static __always_inline __u64 lookup_in_block(const struct lookup_block *b)
{
	__u64 at = b->at, left = b->left, state = b->state;

	for (int i = 0; i < DP_BLOCK_ROWS && at < b->end; i++) {
		__u64 delta, distance, next;

		delta = port_u8(b->data, at);
		at++;
		distance = (delta & 15) + 1;
		if (distance > DWARF_DELTA_BYTE) {
			if (delta == DWARF_DELTA_END)
				break;
			if (distance == DWARF_DELTA_BYTE + 1) {
				distance += port_u8(b->data, at);
				at++;
			} else {
				distance = port_u16(b->data, at);
				at += 2;
			}
		}
		if (distance > left)
			break;
		left -= distance;
		next = delta >> 4;
		if (next < DWARF_DELTA_NUMBER) {
			state += 1 + next;
		} else if (next == DWARF_DELTA_NUMBER) {
			state = port_u16(b->data, at);
			at += 2;
			continue;
		} else {
			distance = (left - b->low) & (DWARF_DELTA_ALIGN - 1);
			if (distance > left)
				return DP_STATE_NONE;
			left -= distance;
			state = DP_STATE_NONE + 1;
		}
		state = port_u16(b->dictionary, b->states + state * 2);
	}
	return state;
}

/* Returns the state for an address in a page with rows, whose data are at an offset in b->data. */
static __always_inline __u64 lookup_in_page(struct lookup_block *b, const struct dp_page *page,
					    __u64 data, __u64 starts)
{
	__u64 bits = page->block_bits, stride = page->stride;
	__u64 number = b->low >> bits, start;
	__u32 anchors = port_u32(b->data, data + number * sizeof(struct dp_anchor));

	b->left = b->low - (number << bits);
	b->at = data + (sizeof(struct dp_anchor) << (DP_PAGE_BITS - bits)) + 1 + number * stride;
	b->end = b->at + stride + (anchors >> 16 & 255);
	b->at += anchors & 255;
	start = anchors >> 8 & 255;
	if (start == DP_START_APART) {
		b->state = port_u16(b->data, b->at);
		b->at += 2;
	} else {
		b->state = port_u16(b->dictionary, starts + start * 2);
	}
	return lookup_in_block(b);
}

/* Returns the rule number for an address inside an image, or DP_RULE_NONE. */
PORT_GLOBAL __u32 lookup_rule_number(struct port_world *world, __u32 cell, __u64 address)
{
	struct walk *w = (struct walk *)world; /* a walk starts with its world */
	struct lookup_block b = { .low = address & (DP_PAGE_SIZE - 1) };
	const struct dp_image *image;
	const struct dp_page *page;
	__u64 number, state, data;
	__u32 where;

	b.dictionary = port_segment(w, cell);
	if (!b.dictionary)
		return DP_RULE_NONE;
	image = port_at(b.dictionary, lookup_byte(cell));
	number = (address - image->base) >> DP_PAGE_BITS;
	if (number >= image->n_pages)
		return DP_RULE_NONE;
	b.states = lookup_byte(cell + image->states);
	where = cell + image->pages + (__u32)number;
	b.data = lookup_segment(w, where, cell, b.dictionary);
	if (!b.data)
		return DP_RULE_NONE;
	page = port_at(b.data, lookup_byte(where));
	state = page->state;
	data = page->data;
	if (data > 0) {
		where = cell + (__u32)(data / DP_CELL_SIZE);
		b.data = lookup_segment(w, where, cell, b.dictionary);
		if (!b.data)
			return DP_RULE_NONE;
		state = lookup_in_page(&b, page, lookup_byte(where) + data % DP_CELL_SIZE,
				       lookup_byte(cell + image->starts));
	}
	return port_u16(b.dictionary, b.states + state * 2);
}

#endif
