/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_POOL_BPF_H
#define DP_BPF_POOL_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"

/* The slack is never used; see DP_SEGMENT_SLACK. */
struct dp_segment {
	__u8 bytes[DP_SEGMENT_SIZE + DP_SEGMENT_SLACK];
};

/*
 * All segments have the same size, so that the kernel inlines the lookup in the inner map too (an
 * inner array of variable size, BPF_F_INNER_MAP, costs a call).
 */
struct dp_segment_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	/* By size: clang emits no type information for the members of an inner map. */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct dp_segment));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, DP_MAX_SEGMENTS);
	__type(key, __u32);
	__array(values, struct dp_segment_map);
} dp_pool SEC(".maps");

#endif
