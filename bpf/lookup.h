/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_LOOKUP_H
#define DP_BPF_LOOKUP_H

/*
 * From an address of a process to the rule that holds there: mapping, image,
 * page, row. This is the slow path, taken when the walker's cache has no answer.
 */

#include "abi.h"
#include "port.h"

#define DP_CELLS(type) (sizeof(type) / DP_CELL_SIZE)

static __always_inline void rule_none(struct dp_rule *rule, __u32 why)
{
	*rule = (struct dp_rule){ .cfa = DP_CFA_NONE, .why = why };
}

/*
 * 1 if a > b, else 0, for values below 2^63. A comparison would compile to a
 * branch, and in a search the verifier follows every path through every branch.
 */
static __always_inline __u64 is_above(__u64 a, __u64 b)
{
	return port_opaque(b - a) >> 63;
}

/* The last of n mappings at cell that starts at or below pc, or the first. */
static __always_inline __u32 lookup_mapping(struct walk *w, __u32 cell, __u32 n, __u64 pc)
{
	__u32 at = 0;

	for (int i = 0; i < DP_MAPPING_SEARCH_STEPS && n > 1; i++) {
		__u32 half = n / 2;
		const struct dp_mapping *m =
			port_pool(w, cell + (at + half) * (__u32)DP_CELLS(struct dp_mapping));

		if (!m)
			break;
		at += half & ((__u32)is_above(m->start, pc) - 1);
		n = port_opaque(n - half);
	}
	return cell + at * (__u32)DP_CELLS(struct dp_mapping);
}

/* What the rows of a page are read from. */
struct lookup_page {
	const __u8 *dictionary; /* the segment in which the image starts */
	const __u8 *data;       /* the segment in which the page's data lies */
	__u64 states;           /* byte of the former */
	__u64 anchors, rows;    /* bytes of the latter */
	__u64 n_rows;
};

/* The segment of a cell; most often the one in which the image starts. */
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

/* The number of the last anchor that starts at or below `low`, counted from 1; 0: none. */
static __always_inline __u64 lookup_block(const struct lookup_page *p, __u64 low)
{
	__u64 n = (p->n_rows + DP_BLOCK_ROWS - 1) / DP_BLOCK_ROWS;
	__u64 at = 0;

	for (int i = 0; i < DP_BLOCK_SEARCH_STEPS && n > 1; i++) {
		__u64 half = n / 2;
		__u64 anchor = p->anchors + (at + half - 1) * sizeof(struct dp_anchor);

		at += half & (is_above(port_u16(p->data, anchor), low) - 1);
		n = port_opaque(n - half);
	}
	return at;
}

/* Read on from a block's start, until a row starts above `low`; the state that holds there. */
static __always_inline __u64 lookup_in_block(const struct lookup_page *p, __u64 n, __u64 pc,
					     __u64 state, __u64 at, __u64 low)
{
	for (int i = 0; i < DP_BLOCK_ROWS; i++) {
		__u64 delta, distance, next;

		if ((__u64)i >= n)
			break;
		at = port_forget(at);
		pc = port_forget(pc);
		delta = port_u8(p->data, at);
		at++;
		distance = delta & 15;
		if (distance < DWARF_DELTA_BYTE) {
			pc += distance + 1;
		} else if (distance == DWARF_DELTA_BYTE) {
			pc += 15 + port_u8(p->data, at);
			at++;
		} else {
			pc += port_u16(p->data, at);
			at += 2;
		}
		if (pc > low)
			break;
		state = port_forget(state);
		next = delta >> 4;
		if (next < DWARF_DELTA_NUMBER) {
			state += 1 + next;
		} else if (next == DWARF_DELTA_NUMBER) {
			state = port_u16(p->data, at);
			at += 2;
			continue;
		} else {
			pc = (pc + DWARF_DELTA_ALIGN - 1) & ~(DWARF_DELTA_ALIGN - 1ULL);
			state = pc > low ? DP_STATE_NONE : DP_STATE_NONE + 1;
			if (state == DP_STATE_NONE)
				break;
		}
		state = port_u16(p->dictionary, p->states + state * 2);
	}
	return state;
}

/* The rule number for an address inside an image; DP_RULE_NONE where there is none. */
PORT_GLOBAL __u32 lookup_rule_number(struct port_world *world, __u32 cell, __u64 address)
{
	struct walk *w = (struct walk *)world; /* which starts with it */
	__u64 low = address & (DP_PAGE_SIZE - 1), number, pc = 0, state, at = 0, block;
	const struct dp_image *image;
	const struct dp_page *page;
	struct lookup_page p;
	__u32 where;

	p.dictionary = port_segment(w, cell);
	if (!p.dictionary)
		return DP_RULE_NONE;
	image = port_at(p.dictionary, lookup_byte(cell));
	number = (address - image->base) >> DP_PAGE_BITS;
	if (number >= image->n_pages)
		return DP_RULE_NONE;
	p.states = lookup_byte(cell + image->states);
	where = cell + image->pages + (__u32)number;
	p.data = lookup_segment(w, where, cell, p.dictionary);
	if (!p.data)
		return DP_RULE_NONE;
	page = port_at(p.data, lookup_byte(where));
	state = page->state;
	p.n_rows = page->n_rows;
	if (p.n_rows > 0) {
		__u32 data = page->data;

		where = cell + data / 4;
		p.data = lookup_segment(w, where, cell, p.dictionary);
		if (!p.data)
			return DP_RULE_NONE;
		p.anchors = lookup_byte(where) + data % 4 * 2;
		p.rows = p.anchors + (p.n_rows - 1) / DP_BLOCK_ROWS * sizeof(struct dp_anchor);
		block = port_forget(lookup_block(&p, low));
		if (block > 0) {
			const struct dp_anchor *anchor =
				port_at(p.data, p.anchors + (block - 1) * sizeof(struct dp_anchor));

			pc = anchor->pc;
			state = anchor->state;
			at = anchor->at;
		}
		state = lookup_in_block(&p, port_forget(p.n_rows - block * DP_BLOCK_ROWS), pc,
					state, p.rows + at, port_forget(low));
	}
	return port_u16(p.dictionary, p.states + state * 2);
}

/* A rule that is written as a word, in full. */
static __always_inline void lookup_unpack(__u64 word, struct dp_rule *ret)
{
	__u32 rbp = word >> DP_WORD_RBP_SHIFT & DP_MAX_SLOT;

	*ret = (struct dp_rule){
		.cfa = DP_CFA_REGISTER,
		.cfa_reg = (word & ((1 << DP_FORM_BITS) - 1)) == DP_FORM_RSP ? DP_RSP : DP_RBP,
		.cfa_offset = (__s32)(word >> DP_FORM_BITS & ((1 << DP_WORD_N_BITS) - 1)) * 8,
		.saves = word >> DP_WORD_SAVES_SHIFT,
		.ra = { .kind = DP_WHERE_CFA, .offset = -8 },
	};
	if (rbp)
		ret->rbp = (struct dp_where){ .kind = DP_WHERE_CFA, .offset = -8 * (__s32)rbp };
}

static __always_inline void lookup_program(struct dp_where *where, __u32 programs)
{
	if (where->kind == DP_WHERE_EXPRESSION || where->kind == DP_WHERE_VALUE)
		where->offset += (__s32)programs;
}

/* The rule for an address inside the image at cell; saves apart and programs become cells. */
static __always_inline void lookup_image(struct walk *w, __u32 cell, __u64 address,
					 struct dp_rule *ret)
{
	__u32 number = lookup_rule_number((struct port_world *)w, cell, address);
	const struct dp_image *image = port_pool(w, cell);
	const struct dp_rule *full;
	const __u64 *word;

	rule_none(ret, DP_NO_RULE);
	if (!image || number == DP_RULE_NONE || number >= image->n_rules)
		return;
	word = port_pool(w, cell + image->rules + number);
	if (!word)
		return;
	if ((*word & ((1 << DP_FORM_BITS) - 1)) != DP_FORM_FULL) {
		lookup_unpack(*word, ret);
		return;
	}
	number = *word >> DP_FORM_BITS & ((1 << DP_WORD_N_BITS) - 1);
	full = port_pool(w, cell + image->full + number * (__u32)DP_CELLS(struct dp_rule));
	if (!full)
		return;
	*ret = *full;
	if (ret->saves & DP_SAVES_APART)
		ret->saves = DP_SAVES_APART |
			     (cell + image->saves +
			      (ret->saves & ~DP_SAVES_APART) * (__u32)DP_CELLS(struct dp_saves));
	if (ret->cfa == DP_CFA_EXPRESSION)
		ret->cfa_offset += (__s32)(cell + image->programs);
	lookup_program(&ret->ra, cell + image->programs);
	lookup_program(&ret->rbp, cell + image->programs);
	lookup_program(&ret->rsp, cell + image->programs);
}

/*
 * The rule for an address of the process whose space is at cell. Returns the
 * cell of the mapping that the address lies in, or 0.
 */
static __noinline __attribute__((unused)) __u32 lookup_space(struct walk *w, __u32 cell, __u64 pc,
							     struct dp_rule *ret)
{
	const struct dp_space *space = port_pool(w, cell);
	const struct dp_mapping *m;

	rule_none(ret, DP_NO_MAPPING);
	if (!space || space->n_mappings == 0)
		return 0;
	cell = lookup_mapping(w, cell + (__u32)DP_CELLS(struct dp_space), space->n_mappings, pc);
	m = port_pool(w, cell);
	if (!m || pc < m->start || pc >= m->end)
		return 0;
	if (m->image == DP_CELL_NONE)
		rule_none(ret, DP_NO_TABLE);
	else if (m->image == DP_CELL_EVICTED)
		rule_none(ret, DP_TABLE_EVICTED);
	else
		lookup_image(w, m->image, pc - m->bias, ret);
	return cell;
}

#endif
