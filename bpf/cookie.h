/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_COOKIE_H
#define DP_BPF_COOKIE_H

/* Checks that the binaries of a snapshot are still the ones that the process has mapped. */

#include "bpf/lookup.h"
#include "bpf/walk_state.h"

/* The cache entry of a mapping's cookie; neighbouring mappings have different entries. */
static __always_inline struct walk_cookie *walk_cookie_of(struct walk *w, __u32 mapping)
{
	return &w->mapped.cookies[mapping & (WALK_COOKIES - 1)];
}

/* True if this walk has already checked the mapping's cookie. */
static __always_inline __u32 walk_is_checked(struct walk *w, __u32 mapping)
{
	const struct walk_cookie *cookie = walk_cookie_of(w, mapping);

	return (cookie->walk == w->in.number) & (cookie->mapping == mapping);
}

/* Checks it; negative if it differs. A memory map does not change, so a cookie can be cached. */
PORT_GLOBAL int walk_check(struct walk *w, __u32 mapping)
{
	const struct dp_mapping *m;
	struct walk_cookie *cookie;
	__u64 found;

	if (!w)
		return -1;
	cookie = walk_cookie_of(w, mapping);
	if (walk_is_checked(w, mapping))
		return 0;
	if (cookie->mapping != mapping || cookie->memory_map != w->in.memory_map) {
		m = port_pool(w, dp_mapping_cell(w->in.snapshot_cell, mapping));
		if (!m)
			return -1;
		cookie->mapping = mapping;
		cookie->memory_map = w->in.memory_map;
		cookie->walk = 0;
		cookie->cookie = m->cookie;
		cookie->address = m->cookie_below ? m->start - m->cookie_below : 0;
	}
	if (cookie->address != 0) {
		w->at.cost += WALK_COST_WORD;
		if (port_read_user(w, &found, sizeof(found), cookie->address) < 0)
			return -1;
		w->mapped.code_changed = found != cookie->cookie;
		if (w->mapped.code_changed)
			return -1;
	}
	cookie->walk = w->in.number;
	return 0;
}

#endif
