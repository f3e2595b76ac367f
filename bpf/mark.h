/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_MARK_H
#define DP_BPF_MARK_H

/* Whether the binaries that a space names are still those that the process has mapped. */

#include "bpf/lookup.h"
#include "bpf/walk_state.h"

/* Where a mapping's mark is remembered: neighbours do not share a place. */
static __always_inline struct walk_mark *walk_mark_of(struct walk *w, __u32 mapping)
{
	return &w->marks[mapping & (WALK_MARKS - 1)];
}

/* Has this walk seen that the mapping's binary is still the one that is there? */
static __always_inline __u32 walk_is_checked(struct walk *w, __u32 mapping)
{
	const struct walk_mark *mark = walk_mark_of(w, mapping);

	return (mark->walk == w->number) & (mark->mapping == mapping);
}

/* See that it is; negative if not. A layout does not change, so a mark is remembered. */
PORT_GLOBAL int walk_check(struct walk *w, __u32 mapping)
{
	const struct dp_mapping *m;
	struct walk_mark *mark;
	__u64 found;

	if (!w)
		return -1;
	mark = walk_mark_of(w, mapping);
	if (walk_is_checked(w, mapping))
		return 0;
	if (mark->mapping != mapping || mark->layout != w->layout) {
		m = port_pool(w, dp_mapping_cell(w->space_cell, mapping));
		if (!m)
			return -1;
		mark->mapping = mapping;
		mark->layout = w->layout;
		mark->walk = 0;
		mark->mark = m->mark;
		mark->address = m->mark_below ? m->start - m->mark_below : 0;
	}
	if (mark->address != 0) {
		if (port_read_user(w, &found, sizeof(found), mark->address) < 0)
			return -1;
		w->code_changed = found != mark->mark;
		if (w->code_changed)
			return -1;
	}
	mark->walk = w->number;
	return 0;
}

#endif
