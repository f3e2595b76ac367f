/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_PROBE_SLOTS_BPF_H
#define DP_BPF_PROBE_SLOTS_BPF_H

/*
 * Probes that are added while other events are sampled, each with a budget (probe_layout.h). The slot
 * of one is in the cookie of its places.
 */
#include "bpf/kernel.bpf.h"
#include "bpf/rate.bpf.h"

#include <bpf/bpf_core_read.h>

/* A constant of the loaded program, as the options are. */
const volatile bool dp_has_slots;

/* User space makes DP_MAX_PROBES of both. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct dp_probe);
} dp_probes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rate);
} dp_probe_rates SEC(".maps");

#define DUMPABLE_MASK 3 /* MMF_DUMPABLE_MASK, include/linux/sched/coredump.h */
#define DUMPABLE_BY_USER 1

static __always_inline bool is_dumpable(const struct mm_struct *mm)
{
	unsigned long flags = 0;

	if (bpf_core_field_exists(mm->flags))
		flags = BPF_CORE_READ(mm, flags);
	else if (bpf_core_field_exists(((const struct mm_struct___bits *)mm)->flags))
		bpf_core_read(&flags, sizeof(flags), &((const struct mm_struct___bits *)mm)->flags);
	return (flags & DUMPABLE_MASK) == DUMPABLE_BY_USER;
}

/*
 * May the user trace the current task? As __ptrace_may_access(), kernel/ptrace.c, of one without
 * capabilities. What else was asked when the process was named holds for it: but it may have executed
 * another program since.
 */
static __always_inline bool probe_may_trace(const struct dp_probe *p)
{
	const struct task_struct *task = (const void *)bpf_get_current_task_btf();
	const struct cred *c = BPF_CORE_READ(task, real_cred);
	__u64 capabilities = ~0ULL;
	__u32 differs = 0;

	differs |= BPF_CORE_READ(c, uid.val) ^ p->user;
	differs |= BPF_CORE_READ(c, suid.val) ^ p->user;
	differs |= BPF_CORE_READ(c, euid.val) ^ p->user;
	differs |= BPF_CORE_READ(c, gid.val) ^ p->group;
	differs |= BPF_CORE_READ(c, sgid.val) ^ p->group;
	differs |= BPF_CORE_READ(c, egid.val) ^ p->group;
	bpf_core_read(&capabilities, sizeof(capabilities), &c->cap_permitted);
	return differs == 0 && capabilities == 0 && is_dumpable(BPF_CORE_READ(task, mm));
}

static __always_inline bool probe_is_for(const struct dp_probe *p, __u32 pid)
{
	__u64 is_listed = p->n_pids == 0;

	/* Without branches, which the verifier would follow. */
	for (__u32 i = 0; i < DP_MAX_PROBE_PIDS; i++)
		is_listed |= ((__u64)(p->pids[i] ^ pid) - 1) >> 63;
	return is_listed;
}

/*
 * Counts a hit. Is it to be looked at? Also hits of processes that are not sampled count for the end
 * of a probe: each costs its process a trap.
 */
PORT_GLOBAL int probe_hit(__u64 cookie, __u32 pid)
{
	__u32 slot = cookie >> DP_PROBE_SHIFT;
	struct dp_probe *p = bpf_map_lookup_elem(&dp_probes, &slot);
	__u64 now, start;

	if (!dp_has_slots || !p || p->is_over)
		return 0;
	now = bpf_ktime_get_ns();
	start = p->second_ns;
	if (now - start >= RATE_WINDOW_NS &&
	    __sync_val_compare_and_swap(&p->second_ns, start, now) == start)
		__sync_lock_test_and_set(&p->n_second, 0);
	__sync_fetch_and_add(&p->n_hits, 1);
	if (__sync_fetch_and_add(&p->n_second, 1) >= p->max_hits)
		p->is_over = 1;
	return probe_is_for(p, pid) && (!p->is_of_user || probe_may_trace(p));
}

/* Counts a hit of a probe whose hits are no samples. */
static __always_inline void probe_count(__u64 cookie)
{
	__u32 slot = cookie >> DP_PROBE_SHIFT;
	struct dp_probe *p = bpf_map_lookup_elem(&dp_probes, &slot);

	if (p)
		__sync_fetch_and_add(&p->n_wanted, 1);
}

/* There were too many hits, so that further ones are not known. */
static __always_inline bool probe_is_over(__u32 slot)
{
	const struct dp_probe *p = bpf_map_lookup_elem(&dp_probes, &slot);

	return !p || *(const volatile __u32 *)&p->is_over;
}

/* Is each call kept, of whichever process? */
static __always_inline bool probe_is_for_all(__u32 slot)
{
	const struct dp_probe *p = bpf_map_lookup_elem(&dp_probes, &slot);

	return p && !*(const volatile __u32 *)&p->is_over && p->n_pids == 0 && !p->is_of_user;
}

/* Number of hits that a sample of this one stands for; 0: do not take it. */
PORT_GLOBAL int probe_weight(__u64 cookie)
{
	__u32 slot = cookie >> DP_PROBE_SHIFT, weight;
	struct dp_probe *p = bpf_map_lookup_elem(&dp_probes, &slot);
	struct rate *r = bpf_map_lookup_elem(&dp_probe_rates, &slot);

	if (!dp_has_slots || !p || !r)
		return 0;
	__sync_fetch_and_add(&p->n_wanted, 1);
	weight = rate_take(r, p->max_rate);
	if (weight == 0)
		__sync_fetch_and_add(&p->n_thinned, 1);
	return (int)weight;
}

static __always_inline __u32 hit_weight(struct pt_regs *ctx, __u32 pid)
{
	if (dp_has_slots)
		return (__u32)probe_weight(bpf_get_attach_cookie(ctx));
	return rate_weight(pid, DP_EVENT_UPROBE);
}

/* May a CPU's sampling event interrupt the program that sends it? */
static __always_inline bool is_sent_apart(const struct dp_sample *sample)
{
	return sample->event >= DP_EVENT_OFF_CPU ||
	       (dp_has_slots && sample->event == DP_EVENT_UPROBE);
}

#endif
