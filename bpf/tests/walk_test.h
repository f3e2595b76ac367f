/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_TESTS_WALK_TEST_H
#define DP_BPF_TESTS_WALK_TEST_H

#include "bpf/abi.h"

/* A request for walk_test.bpf.c, in the memory of the calling process. */
struct walk_request {
	struct dp_regs regs;
	__u64 snapshot;
	__u64 memory_map;
	__u32 snapshot_cell;
	__u32 unwind;
	__u32 max_frames;
	__u32 in_syscall;
	__u64 ns; /* that the walk has taken */
};

#endif
