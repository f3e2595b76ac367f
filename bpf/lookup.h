/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_LOOKUP_H
#define DP_BPF_LOOKUP_H

/*
 * Finds the rule for an address of a process: mapping, image, page, row. This is the slow path, for
 * addresses that are not in the walker's cache.
 */

#include "bpf/abi.h"
#include "bpf/lookup_row.h"
#include "bpf/lookup_word.h"
#include "bpf/port.h"

#define DP_CELLS(type) (sizeof(type) / DP_CELL_SIZE)

static __always_inline void rule_none(struct dp_rule *rule, __u32 why)
{
	*rule = (struct dp_rule){ .cfa = DP_CFA_NONE, .why = why };
}

/* Cell of the mapping with this number, counted from 1, in the snapshot at `cell`. */
static __always_inline __u32 dp_mapping_cell(__u32 cell, __u32 number)
{
	return cell + (__u32)DP_CELLS(struct dp_snapshot) +
	       (number - 1) * (__u32)DP_CELLS(struct dp_mapping);
}

/*
 * Number of the last mapping in a snapshot that starts at or below pc, else of the first. `segment`: that of
 * the snapshot, which contains all of it.
 */
static __always_inline __u32 lookup_mapping(const __u8 *segment, __u32 cell, __u64 pc)
{
	const struct dp_snapshot *snapshot = port_at(segment, lookup_byte(cell));
	__u32 at = 0, n = snapshot->n_mappings;

	cell += (__u32)DP_CELLS(struct dp_snapshot);
	for (int i = 0; i < DP_MAPPING_SEARCH_STEPS && n > 1; i++) {
		__u32 half = n / 2;
		const struct dp_mapping *m = port_at(
			segment,
			lookup_byte(cell + (at + half) * (__u32)DP_CELLS(struct dp_mapping)));

		at += half & ((__u32)is_above(m->start, pc) - 1);
		n = port_opaque(n - half);
	}
	return at + 1;
}

static __always_inline void lookup_program(struct dp_where *where, __u32 programs)
{
	if (where->kind == DP_WHERE_EXPRESSION || where->kind == DP_WHERE_VALUE)
		where->offset += (__s32)programs;
}

/*
 * Finds the rule for an address inside the image at `cell`. Numbers of dp_saves and programs become
 * cells.
 */
static __always_inline void lookup_image(struct walk *w, __u32 cell, __u64 address,
					 struct dp_rule *ret)
{
	__u32 number = lookup_rule_number((struct port_world *)w, cell, address);
	/* It has all that is in front of the image's pages (struct dp_image). */
	const __u8 *segment = port_segment(w, cell);
	const struct dp_image *image;
	const struct dp_rule *full;
	const __u64 *word;

	rule_none(ret, DP_NO_RULE);
	if (!segment || number == DP_RULE_NONE)
		return;
	image = port_at(segment, lookup_byte(cell));
	if (number >= image->n_rules)
		return;
	word = port_at(segment, lookup_byte(cell + image->rules + number));
	if ((*word & ((1 << DP_FORM_BITS) - 1)) != DP_FORM_FULL) {
		lookup_unpack(*word, ret);
		return;
	}
	number = *word >> DP_FORM_BITS & ((1 << DP_WORD_N_BITS) - 1);
	full = port_at(segment,
		       lookup_byte(cell + image->full + number * (__u32)DP_CELLS(struct dp_rule)));
	*ret = *full;
	if (ret->saves & DP_SAVES_APART)
		ret->saves = DP_SAVES_APART |
			     (cell + image->saves +
			      (ret->saves & ~DP_SAVES_APART) * (__u32)DP_CELLS(struct dp_saves));
	if (ret->cfa == DP_CFA_EXPRESSION || ret->cfa == DP_CFA_SWITCH)
		ret->cfa_offset += (__s32)(cell + image->programs);
	lookup_program(&ret->ra, cell + image->programs);
	lookup_program(&ret->fp, cell + image->programs);
	lookup_program(&ret->sp, cell + image->programs);
}

/*
 * Finds the rule for an address of the process whose snapshot is at `cell`. Returns the number of
 * the mapping with the address, or 0. `last` is the number of the most likely mapping, or 0.
 */
static __always_inline __u32 lookup_snapshot(struct walk *w, __u32 cell, __u32 last, __u64 pc,
					     struct dp_rule *ret)
{
	const __u8 *segment = port_segment(w, cell);
	const struct dp_snapshot *snapshot;
	const struct dp_mapping *m;

	rule_none(ret, DP_NO_MAPPING);
	if (!segment)
		return 0;
	m = last ? port_at(segment, lookup_byte(dp_mapping_cell(cell, last))) : NULL;
	if (!m || pc < m->start || pc >= m->end) {
		snapshot = port_at(segment, lookup_byte(cell));
		if (snapshot->n_mappings == 0)
			return 0;
		last = lookup_mapping(segment, cell, pc);
		m = port_at(segment, lookup_byte(dp_mapping_cell(cell, last)));
		if (pc < m->start || pc >= m->end)
			return 0;
	}
	if (m->image == DP_CELL_NONE)
		rule_none(ret, DP_NO_TABLE);
	else if (m->image == DP_CELL_EVICTED)
		rule_none(ret, DP_TABLE_EVICTED);
	else
		lookup_image(w, m->image, pc - m->bias, ret);
	return last;
}

#endif
