/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_SPAN_LAYOUT_H
#define DP_BPF_SPAN_LAYOUT_H

/*
 * Calls of probed functions whose values label the samples that are taken while they are on the
 * stack (spans.bpf.h). Part of abi.h.
 */

/* Probes whose calls label samples at the same time, a power of two; and functions of all of them. */
#define DP_MAX_LABEL_PROBES 4
#define DP_MAX_SPAN_PLACES 8
/* Calls that are kept per thread, a power of two. */
#define DP_MAX_SPANS 8
#define DP_MAX_SPAN_THREADS 4096
#define DP_MAX_SPAN_PROCESSES 1024
#define DP_MAX_SPAN_OWNERS 65536

/*
 * Identifies a place for good, with the number of its probe, and its own among those of all probes: serial (from
 * 1) counts probes, so that a call kept for a removed probe is not taken for one of its successor in the same
 * slot.
 */
#define DP_SPAN_ID(serial, probe, number)                                                          \
	(((__u32)(serial)*DP_MAX_LABEL_PROBES + (__u32)(probe)) * DP_MAX_SPAN_PLACES +             \
	 (__u32)(number))
#define DP_SPAN_PROBE(id) ((id) / DP_MAX_SPAN_PLACES % DP_MAX_LABEL_PROBES)

/* The code of a probed function, and of a part of it that the compiler has put elsewhere. */
struct dp_span_place {
	__u64 size;
	__s64 cold;      /* where the other part begins, from the function's start */
	__u64 cold_size; /* 0: there is none */
	__u64 begun;     /* DP_PROBED_FROM() */
	__u32 id;        /* DP_SPAN_ID(); 0: there is none */
	__u32 slot;      /* of a probe that was added meanwhile (probe_layout.h) */
};

struct dp_span_places {
	/* Of probes that are added meanwhile: how long calls take matters, samples list them. */
	__u32 are_timed;
	__u32 n; /* one more than the number of the last one in use; only in the kernel's table */
	struct dp_span_place of[DP_MAX_SPAN_PLACES];
};

/*
 * The cookie of a place: the number of its list of arguments, and its id. That of the first place of a run's own
 * probes is 0, which needs no link: others do (perf_event_set_bpf_prog(), kernel/events/core.c).
 */
#define DP_SPAN_COOKIE(list, id) ((__u64)((id)-DP_SPAN_ID(1, 0, 0)) << 16 | (list))
/* Of a place where calls that are kept may get new addresses, as Go's stacks move. */
#define DP_SPAN_COOKIE_MOVES (~(__u64)0)
#define DP_SPAN_ID_OF(cookie) ((__u32)((cookie) >> 16) + DP_SPAN_ID(1, 0, 0))

/*
 * Times of calls are counted by steps: four for each power of two of nanoseconds, so that a step ends
 * at most 25 % above its start. The last four are not used: a power of two bounds an index.
 */
#define DP_SPAN_STEPS 256

static inline __u32 dp_span_step(__u64 ns)
{
	__u32 log = 0;

	for (__u32 shift = 32; shift > 0; shift /= 2)
		log += ns >> log >> shift ? shift : 0;
	return log < 2 ? (__u32)ns : (log - 1) * 4 + (__u32)(ns >> (log - 2) & 3);
}

/* The shortest time of a step. */
static inline __u64 dp_span_step_start(__u32 step)
{
	return step < 4 ? step : (__u64)(4 + step % 4) << (step / 4 - 1);
}

/* What a CPU has counted. */
struct dp_span_times {
	__u64 n_begun;
	__u64 n_long;    /* that have returned after the least time, or later */
	__u64 n_unknown; /* that have returned, but had begun unseen, or were forgotten */
	__u64 n_returned[DP_SPAN_STEPS];
};

/* How a call has ended whose samples wait for that. */
enum dp_span_how {
	DP_SPAN_RETURNED,
	DP_SPAN_REPLACED,  /* another call has its place on the stack; it had ended by then */
	DP_SPAN_FORGOTTEN, /* there was no room for it */
	DP_N_SPAN_HOWS,
};

#endif
