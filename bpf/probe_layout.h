/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_PROBE_LAYOUT_H
#define DP_BPF_PROBE_LAYOUT_H

/*
 * Probes that are added while other events are sampled (probe_slots.bpf.h): what user space sets, and
 * what the kernel counts. Part of abi.h.
 */

#define DP_MAX_PROBES 64
#define DP_MAX_PROBE_PIDS 16

/* A cookie has the number of a list of arguments, or DP_SPAN_COOKIE(), and above it the probe's slot. */
#define DP_PROBE_SHIFT 48
#define DP_PROBE_COOKIE(list, slot) ((__u64)(slot) << DP_PROBE_SHIFT | (list))

#define DP_PROBE_ENDED 2 /* sampling has */

struct dp_probe {
	/* Set before there can be hits: */
	__u32 max_rate; /* samples per second, at least 1; beyond that, some are chosen at random */
	__u32 max_hits; /* a second with more ends it */
	__u32 n_pids;   /* only these processes; 0: all that are sampled */
	__u32 pids[DP_MAX_PROBE_PIDS]; /* the others are 0 */
	__u32 is_of_user; /* only what this user may trace, in the initial user namespace: */
	__u32 user, group;
	/* Counted: */
	__u32 is_over;   /* unless 0, no hit counts. 1: there were too many; DP_PROBE_ENDED */
	__u64 n_hits;    /* in all processes: each costs a trap */
	__u64 n_wanted;  /* in those that are sampled */
	__u64 n_thinned; /* of these, not sampled */
	__u64 second_ns; /* when the present second began, and hits in it: */
	__u64 n_second;
};

#endif
