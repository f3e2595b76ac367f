/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_SPAN_LAYOUT_H
#define DP_BPF_SPAN_LAYOUT_H

/*
 * Calls of probed functions whose values label the samples that are taken while they are on the
 * stack (spans.bpf.h). Part of abi.h.
 */

#define DP_MAX_SPAN_PLACES 8
#define DP_MAX_SPAN_THREADS 4096
#define DP_MAX_SPAN_PROCESSES 1024
#define DP_MAX_SPAN_OWNERS 65536

/* The code of a probed function, and of a part of it that the compiler has put elsewhere. */
struct dp_span_place {
	__u64 size;
	__s64 cold;      /* where the other part begins, from the function's start */
	__u64 cold_size; /* 0: there is none */
};

struct dp_span_places {
	struct dp_span_place of[DP_MAX_SPAN_PLACES];
};

/* The cookie of a place: the number of its list of arguments, and that of the place. */
#define DP_SPAN_COOKIE(list, place) ((__u64)(place) << 16 | (list))

#endif
