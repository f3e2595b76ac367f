/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_RATE_BPF_H
#define DP_BPF_RATE_BPF_H

/*
 * Limits the samples per process and second, for events that come in bursts. Each event is taken
 * with probability 1/weight and then stands for `weight` events, so sums over samples are unbiased
 * even if events are correlated. That requires that the weight depends only on the number of
 * events, not on which ones were taken: the first N of each second would differ from the rest.
 *
 * The weight is what would have given N samples in the previous second. It doubles whenever the
 * events reach the number of that whole second (or N), then twice, then four times that. So a
 * second has N samples if it is like the one before, and N/2 more for each doubling of the number
 * of events.
 */
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"

const volatile __u32 dp_max_rate; /* N; 0: every event is taken */

#define RATE_WINDOW_NS 1000000000ULL
#define RATE_MAX_DOUBLINGS 20

struct rate {
	__u64 start;    /* of this second */
	__u64 n_events; /* in it, so far */
	__u64 limit;    /* event count at which the weight doubles next */
	__u64 weight;
};

/*
 * By event and process. A plain array: no allocation, no lock, never full, usable in any context.
 * User space sets max_entries.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rate);
} dp_rates SEC(".maps");

/*
 * One of the CPUs that get here begins the next second; the others may still use the old weight. max: N
 */
static __always_inline void rate_begin(struct rate *r, __u64 now, __u32 max)
{
	__u64 start = r->start;
	__u64 before;

	if (now - start < RATE_WINDOW_NS ||
	    __sync_val_compare_and_swap(&r->start, start, now) != start)
		return;
	before = __sync_lock_test_and_set(&r->n_events, 0);
	if (now - start >= 2 * RATE_WINDOW_NS)
		before = 0;
	r->limit = before > max ? before : max;
	r->weight = (r->limit + max - 1) / max;
}

/* Number of events that a sample of this event stands for; 0: do not take it. max: N, not 0 */
static __always_inline __u32 rate_take(struct rate *r, __u32 max)
{
	__u64 n, limit, weight;

	rate_begin(r, bpf_ktime_get_ns(), max);
	n = __sync_fetch_and_add(&r->n_events, 1);
	limit = r->limit;
	weight = r->weight;
	for (int i = 0; i < RATE_MAX_DOUBLINGS && n >= limit; i++) {
		limit *= 2;
		weight *= 2;
	}
	if (weight <= 1)
		return 1;
	return bpf_get_prandom_u32() % (__u32)weight == 0 ? (__u32)weight : 0;
}

/* The same, with --max-rate. */
static __always_inline __u32 rate_weight(__u32 pid, enum dp_event event)
{
	__u32 key = event * DP_RATE_SLOTS + pid % DP_RATE_SLOTS;
	struct rate *r;

	if (dp_max_rate == 0)
		return 1;
	r = bpf_map_lookup_elem(&dp_rates, &key);
	return r ? rate_take(r, dp_max_rate) : 1;
}

#endif
