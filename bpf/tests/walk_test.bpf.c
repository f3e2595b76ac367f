// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the walker in the kernel on request, for test_walk_kernel.c, which compares it with user
 * space.
 */
#include "bpf/tests/walk_test.h"

#include "bpf/walk.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walk);
} walk_state SEC(".maps");

SEC("syscall")
int walk_test(struct walk_request *request)
{
	__u32 zero = 0;
	struct walk *w = bpf_map_lookup_elem(&walk_state, &zero);
	__u64 start;

	if (!w)
		return -1;
	w->in.regs = request->regs;
	w->in.snapshot = request->snapshot;
	w->in.memory_map = request->memory_map;
	w->in.snapshot_cell = request->snapshot_cell;
	w->in.unwind = request->unwind;
	w->in.max_frames = request->max_frames;
	w->in.in_syscall = request->in_syscall;
	start = bpf_ktime_get_ns();
	walk_run(w);
	request->ns = bpf_ktime_get_ns() - start;
	walk_spell_out(w);
	return 0;
}
