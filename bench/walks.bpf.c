// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walks the stack of one moment in all ways, one after the other, and times each. The walker, its
 * options and its maps are the profiler's: this is dwarfprof.bpf.c with another program, which uses
 * the tables of a running dwarfprof.
 */
#include "bpf/dwarfprof.bpf.c"

#include "bench/walks_sample.h"

struct walks_frames {
	__u64 frames[DP_MAX_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walks_frames);
} walks_kernel SEC(".maps");

/* A walk for each way. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WALKS_N);
	__type(key, __u32);
	__type(value, struct walk);
} walks_state SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walks_sample);
} walks_made SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} walks_ring SEC(".maps");

/* Number of samples so far: it determines which way is first. */
__u32 walks_count;

struct walks_ref {
	struct bpf_perf_event_data *ctx;
	const __u32 *cell;
	struct walks_sample *sample;
};

static __always_inline void walk_by_kernel(struct bpf_perf_event_data *ctx, struct walks_result *r)
{
	__u32 zero = 0;
	struct walks_frames *f = bpf_map_lookup_elem(&walks_kernel, &zero);
	__u64 start;
	long size;

	if (!f)
		return;
	start = bpf_ktime_get_ns();
	size = bpf_get_stack(ctx, f->frames, sizeof(f->frames), BPF_F_USER_STACK);
	r->ns = bpf_ktime_get_ns() - start;
	if (size < (long)sizeof(__u64))
		return;
	r->n_frames = size / sizeof(__u64);
	r->root = f->frames[port_index(r->n_frames - 1, DP_MAX_FRAMES)];
}

/* Returns 0, or 1 if the task has no stack that can be walked. */
static __always_inline int walk_prepare(struct bpf_perf_event_data *ctx, struct walk *w)
{
	const struct task_struct *task = (const void *)bpf_get_current_task_btf();
	int cs = (__u16)ctx->regs.cs;

	w->in.in_syscall = 0;
	if (!(cs & 3)) {
		if (has_no_user_stack(task))
			return 1;
		return regs_are_compat(regs_of_task(w));
	}
	REGS_COPY(&w->in.regs, &ctx->regs);
	return regs_are_compat(cs);
}

static __always_inline void walk_by_tables(struct walks_ref *ref, struct walk *w, __u32 way,
					   struct walks_result *r)
{
	__u64 start;

	w->in.unwind = way == WALKS_FP   ? DP_UNWIND_FP :
		       way == WALKS_AUTO ? DP_UNWIND_AUTO :
					   DP_UNWIND_DWARF;
	w->in.max_frames = DP_MAX_FRAMES;
	w->out.sample.pid = bpf_get_current_pid_tgid() >> 32;
	if (way == WALKS_APART)
		w->memo.memory_map = 0;
	start = bpf_ktime_get_ns();
	w->out.sample.outcome = sample_snapshot(w, ref->cell);
	if (w->out.sample.outcome == DP_WALKING)
		walk_run(w);
	r->ns = bpf_ktime_get_ns() - start;
	r->outcome = w->out.sample.outcome;
	if (w->out.sample.outcome == DP_NO_PROCESS || w->at.n_frames == 0)
		return;
	r->n_frames = w->at.n_frames;
	r->root = DP_FRAME_ADDRESS(walk_trail(w, w->at.n_frames - 1)->frame);
}

static long walk_next(__u32 i, void *arg)
{
	struct walks_ref *ref = arg;
	__u32 first = walks_count % WALKS_N;
	/* Alternately forwards and backwards, so that no way always follows the same other one. */
	__u32 way = (walks_count / WALKS_N % 2 ? first + WALKS_N - i : first + i) % WALKS_N;
	struct walk *w = bpf_map_lookup_elem(&walks_state, &way);
	struct walks_result *r;
	__u64 start;

	if (!w || way >= WALKS_N || walk_prepare(ref->ctx, w))
		return 1;
	r = &ref->sample->results[port_index(way, WALKS_ROOM)];
	*r = (struct walks_result){ .turn = i };
	if (way == WALKS_KERNEL) {
		walk_by_kernel(ref->ctx, r);
	} else if (way == WALKS_EMPTY) {
		start = bpf_ktime_get_ns();
		r->ns = bpf_ktime_get_ns() - start;
	} else {
		walk_by_tables(ref, w, way, r);
	}
	return 0;
}

/* Forgets, after all is measured, what the cold walk has remembered. */
static __always_inline void forget_cold(void)
{
	__u32 cold = WALKS_COLD;
	struct walk *w = bpf_map_lookup_elem(&walks_state, &cold);

	if (w)
		walk_forget(w);
}

SEC("perf_event")
int dp_walks(struct bpf_perf_event_data *ctx)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32, zero = 0;
	struct walks_ref ref = {
		.ctx = ctx,
		.cell = bpf_map_lookup_elem(&dp_processes, &pid),
		.sample = bpf_map_lookup_elem(&walks_made, &zero),
	};

	if (!ref.cell || !ref.sample)
		return 0;
	ref.sample->time_ns = bpf_ktime_get_ns();
	/* The first way finds that there is no stack. */
	if (bpf_loop(WALKS_N, walk_next, &ref, 0) == WALKS_N)
		bpf_ringbuf_output(&walks_ring, ref.sample, sizeof(*ref.sample), 0);
	walks_count++;
	forget_cold();
	return 0;
}
