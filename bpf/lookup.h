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

/* The last of a page's n rows that starts at or below `low`, or the first. */
static __always_inline __u32 lookup_row(const struct dwarf_delta *rows, __u32 n, __u16 low)
{
	__u32 at = 0;

	for (int i = 0; i < DP_ROW_SEARCH_STEPS && n > 1; i++) {
		__u32 half = n / 2;
		const struct dwarf_delta *row = &rows[port_index(at + half, DP_PAGE_SIZE)];

		at += half & ((__u32)is_above(row->pc, low) - 1);
		n = port_opaque(n - half);
	}
	return at;
}

/* The rule number for an address inside an image; DP_RULE_NONE where there is none. */
static __always_inline __u32 lookup_rule_number(struct walk *w, __u32 cell,
						const struct dp_image *image, __u64 address)
{
	__u64 page = (address - image->base) >> DP_PAGE_BITS;
	__u16 low = address & (DP_PAGE_SIZE - 1);
	const struct dwarf_delta *rows;
	const struct dp_page *p;
	__u32 n, at;

	if (page >= image->n_pages)
		return DP_RULE_NONE;
	p = port_pool(w, cell + image->pages + (__u32)page);
	if (!p)
		return DP_RULE_NONE;
	n = p->n_rows;
	if (n == 0)
		return p->rule;
	rows = port_pool(w, cell + p->rows);
	if (!rows)
		return DP_RULE_NONE;
	at = port_index(lookup_row(rows, n, low), DP_PAGE_SIZE);
	return rows[at].pc > low ? p->rule : rows[at].rule;
}

/* The rule for an address inside the image at cell; its saves become a cell of the pool. */
static __always_inline void lookup_image(struct walk *w, __u32 cell, __u64 address,
					 struct dp_rule *ret)
{
	const struct dp_image *image = port_pool(w, cell);
	const struct dp_rule *rule;
	__u32 number;

	rule_none(ret, DP_NO_RULE);
	if (!image)
		return;
	number = lookup_rule_number(w, cell, image, address);
	if (number == DP_RULE_NONE || number >= image->n_rules)
		return;
	rule = port_pool(w, cell + image->rules + number * (__u32)DP_CELLS(struct dp_rule));
	if (!rule)
		return;
	*ret = *rule;
	if (ret->saves)
		ret->saves =
			cell + image->saves + (ret->saves - 1) * (__u32)DP_CELLS(struct dp_saves);
}

/*
 * The rule for an address of the process whose space is at cell. Returns the
 * cell of the mapping that the address lies in, or 0.
 */
static __noinline __u32 lookup_space(struct walk *w, __u32 cell, __u64 pc, struct dp_rule *ret)
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
	if (m->image == 0)
		rule_none(ret, DP_NO_TABLE);
	else
		lookup_image(w, m->image, pc - m->bias, ret);
	return cell;
}

#endif
