// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a sample costs at least, and by the kernel's own walks: programs for bench/rate.py, whose
 * time the kernel counts. Idle tasks are left out, as the profiler does.
 */
#include "bench/rate_result.h"

#include "bpf/kernel.bpf.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct rate_frames {
	__u64 user[RATE_MAX_FRAMES];
	__u64 kernel[DP_MAX_KERNEL_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rate_frames);
} rate_frames SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RATE_RESULTS);
	__type(key, __u32);
	__type(value, struct rate_result);
} rate_results SEC(".maps");

/* Never read: it has room for what a turn sends. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} rate_ring SEC(".maps");

/* Samples of other tasks than the idle one. */
__u32 rate_count;

static __always_inline struct rate_frames *frames_of_task(void)
{
	__u32 zero = 0;

	if (bpf_get_current_pid_tgid() == 0)
		return NULL;
	return bpf_map_lookup_elem(&rate_frames, &zero);
}

static __always_inline __u32 walk_user(struct bpf_perf_event_data *ctx, struct rate_frames *f)
{
	long size = bpf_get_stack(ctx, f->user, sizeof(f->user), BPF_F_USER_STACK);

	return size > 0 ? (__u32)size / sizeof(*f->user) : 0;
}

static __always_inline void keep(const struct rate_frames *f, __u32 n_user, __u32 n_kernel)
{
	__u32 at = rate_count++ & (RATE_RESULTS - 1);
	struct rate_result *result = bpf_map_lookup_elem(&rate_results, &at);

	if (!result)
		return;
	result->n_user = n_user;
	result->n_kernel = n_kernel;
	result->root = n_user > 0 ? f->user[(n_user - 1) & (RATE_MAX_FRAMES - 1)] : 0;
}

SEC("perf_event")
int rate_empty(struct bpf_perf_event_data *ctx)
{
	return 0;
}

SEC("perf_event")
int rate_send(struct bpf_perf_event_data *ctx)
{
	struct rate_frames *f = frames_of_task();

	if (!f)
		return 0;
	bpf_ringbuf_output(&rate_ring, f, RATE_RECORD_SIZE, BPF_RB_NO_WAKEUP);
	rate_count++;
	return 0;
}

SEC("perf_event")
int rate_user(struct bpf_perf_event_data *ctx)
{
	struct rate_frames *f = frames_of_task();

	if (f)
		keep(f, walk_user(ctx, f), 0);
	return 0;
}

SEC("perf_event")
int rate_both(struct bpf_perf_event_data *ctx)
{
	struct rate_frames *f = frames_of_task();
	long size;

	if (!f)
		return 0;
	size = bpf_get_stack(ctx, f->kernel, sizeof(f->kernel), 0);
	keep(f, walk_user(ctx, f), size > 0 ? (__u32)size / sizeof(*f->kernel) : 0);
	return 0;
}
