// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walks of the same stacks by turns, timed: the kernel's own along frame
 * pointers, and ours. The tables are those of a dwarfprof that runs, whose maps
 * this program shares.
 */
#include "walk_request.h"

#include "walk.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
} dp_processes SEC(".maps");

/* By way: each has a cache of its own, so that none profits from another. One CPU is measured. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WALK_N_WAYS);
	__type(key, __u32);
	__type(value, struct walk);
} walkers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WALK_MOMENTS);
	__type(key, __u32);
	__type(value, struct walk_moment);
} moments SEC(".maps");

__u32 n_moments;

static __always_inline void walk_prepare(struct walk *w, const struct bpf_perf_event_data *ctx)
{
	w->regs.reg[DP_RAX] = ctx->regs.ax;
	w->regs.reg[DP_RDX] = ctx->regs.dx;
	w->regs.reg[DP_RCX] = ctx->regs.cx;
	w->regs.reg[DP_RBX] = ctx->regs.bx;
	w->regs.reg[DP_RSI] = ctx->regs.si;
	w->regs.reg[DP_RDI] = ctx->regs.di;
	w->regs.reg[DP_RBP] = ctx->regs.bp;
	w->regs.reg[DP_RSP] = ctx->regs.sp;
	w->regs.reg[DP_R8] = ctx->regs.r8;
	w->regs.reg[DP_R9] = ctx->regs.r9;
	w->regs.reg[DP_R10] = ctx->regs.r10;
	w->regs.reg[DP_R11] = ctx->regs.r11;
	w->regs.reg[DP_R12] = ctx->regs.r12;
	w->regs.reg[DP_R13] = ctx->regs.r13;
	w->regs.reg[DP_R14] = ctx->regs.r14;
	w->regs.reg[DP_R15] = ctx->regs.r15;
	w->regs.reg[DP_RIP] = ctx->regs.ip;
	w->in_syscall = 0;
}

static __noinline int walk_way(struct bpf_perf_event_data *ctx, struct walk_moment *m, __u32 way,
			       __u32 cell)
{
	struct walk *w = bpf_map_lookup_elem(&walkers, &way);
	const struct dp_space *space = port_pool(w, cell);
	__u64 start;

	if (!w || !space)
		return 0;
	walk_prepare(w, ctx);
	w->space = space->id;
	w->layout = space->layout;
	w->space_cell = cell;
	w->unwind = way == WALK_AUTO ? DP_UNWIND_AUTO :
		    way == WALK_FP   ? DP_UNWIND_FP :
				       DP_UNWIND_DWARF;
	w->max_frames = DP_MAX_FRAMES;
	if (way == WALK_COLD)
		walk_forget(w);
	start = bpf_ktime_get_ns();
	walk_run(w);
	m->ns[port_index(way, WALK_ROOM)] = bpf_ktime_get_ns() - start;
	m->frames[port_index(way, WALK_ROOM)] = w->sample.n_user;
	m->outcome[port_index(way, WALK_ROOM)] = w->sample.outcome;
	return 0;
}

/* bpf_get_stack()'s depth is bounded by the kernel (sysctl kernel.perf_event_max_stack). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64[DP_MAX_KERNEL_FRAMES]);
} stacks SEC(".maps");

static __noinline int kernel_way(struct bpf_perf_event_data *ctx, struct walk_moment *m)
{
	__u32 zero = 0;
	__u64 *stack = bpf_map_lookup_elem(&stacks, &zero), start;
	long size;

	if (!stack)
		return 0;
	start = bpf_ktime_get_ns();
	size = bpf_get_stack(ctx, stack, DP_MAX_KERNEL_FRAMES * sizeof(*stack), BPF_F_USER_STACK);
	m->ns[WALK_KERNEL] = bpf_ktime_get_ns() - start;
	m->frames[WALK_KERNEL] = size > 0 ? (__u64)size / sizeof(*stack) : 0;
	return 0;
}

static __noinline int nothing_way(struct walk_moment *m)
{
	__u64 start = bpf_ktime_get_ns();

	m->ns[WALK_NOTHING] = bpf_ktime_get_ns() - start;
	return 0;
}

SEC("perf_event")
int bench_moment(struct bpf_perf_event_data *ctx)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32, number = n_moments, way;
	const __u32 *cell = bpf_map_lookup_elem(&dp_processes, &pid);
	struct walk_moment *m = bpf_map_lookup_elem(&moments, &number);

	if (!cell || !m || *cell == DP_CELL_UNKNOWN || (ctx->regs.cs & 3) == 0)
		return 0;
	for (__u32 i = 0; i < WALK_N_WAYS; i++) {
		way = port_opaque(number + i) % WALK_N_WAYS;
		if (way == WALK_NOTHING)
			nothing_way(m);
		else if (way == WALK_KERNEL)
			kernel_way(ctx, m);
		else
			walk_way(ctx, m, way, *cell);
	}
	n_moments++;
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");

struct minimal {
	struct dp_names names;
	struct dp_sample sample;
	__u64 stack[DP_MAX_KERNEL_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct minimal);
} minimal SEC(".maps");

/* The least that a profiler with frame pointers does: a record with the kernel's walk. */
SEC("perf_event")
int bench_minimal(struct bpf_perf_event_data *ctx)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 pid = pid_tgid >> 32, zero = 0;
	struct minimal *s = bpf_map_lookup_elem(&minimal, &zero);
	long size;

	if (!s || !bpf_map_lookup_elem(&dp_processes, &pid))
		return 0;
	s->names.kind = DP_RECORD_NAMES;
	s->sample = (struct dp_sample){
		.kind = DP_RECORD_SAMPLE,
		.pid = pid,
		.tid = (__u32)pid_tgid,
		.time_ns = bpf_ktime_get_ns(),
	};
	bpf_get_current_comm(s->names.comm, sizeof(s->names.comm));
	size = bpf_get_stack(ctx, s->stack, sizeof(s->stack), BPF_F_USER_STACK);
	if (size < 0 || size > (long)sizeof(s->stack))
		return 0;
	bpf_ringbuf_output(&ring, s, __builtin_offsetof(struct minimal, stack) + (size & 1023),
			   BPF_RB_NO_WAKEUP);
	return 0;
}

/* What the kernel takes to call a program. */
SEC("perf_event")
int bench_empty(struct bpf_perf_event_data *ctx)
{
	return 0;
}
