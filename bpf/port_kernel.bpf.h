/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_PORT_KERNEL_BPF_H
#define DP_BPF_PORT_KERNEL_BPF_H

#include <bpf/bpf_helpers.h>

#include "abi.h"
#include "pool.bpf.h"

#ifndef NULL
#define NULL ((void *)0)
#endif

struct walk;

/* In the kernel there is one world; the member keeps struct walk the same on both sides. */
struct port_world {
	__u64 zero;
};

/*
 * Hide a value's history: the compiler may otherwise turn masks back into
 * comparisons whose result the verifier cannot use (clang 19), or duplicate
 * branches until the verifier gives up.
 */
#define port_opaque(x)                                                                             \
	({                                                                                         \
		__typeof__(x) _x = (x);                                                            \
		asm volatile("" : "+r"(_x));                                                       \
		_x;                                                                                \
	})

static __always_inline __u32 port_index(__u32 i, __u32 n)
{
	return port_opaque(i) & (n - 1);
}

static __always_inline int port_read_user(struct walk *w, void *dst, __u32 size, __u64 address)
{
	return (int)bpf_probe_read_user(dst, size, (const void *)address);
}

static __always_inline const void *port_pool(struct walk *w, __u32 cell)
{
	__u32 segment = cell / DP_SEGMENT_CELLS, zero = 0;
	struct dp_segment *s;
	void *map;

	map = bpf_map_lookup_elem(&dp_pool, &segment);
	if (!map)
		return NULL;
	s = bpf_map_lookup_elem(map, &zero);
	if (!s)
		return NULL;
	return s->bytes + port_index(cell, DP_SEGMENT_CELLS) * DP_CELL_SIZE;
}

#define port_loop(n, fn, ctx) bpf_loop((n), (void *)(fn), (ctx), 0)

#endif
