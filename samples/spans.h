/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_SPANS_H
#define DP_SAMPLES_SPANS_H

#include "limits/limits.h"
#include "report/span_times.h"
#include "samples/owned_sample.h"

struct label_set;
struct probed_code;
struct redaction;
struct span_call;
struct span_thread;
struct value_labels;

/*
 * Samples that count only if a probed call on their stack took long enough. Most of them wait until the call
 * ends, in order of time, for a limited time and up to a limited size. If the duration is not known by then,
 * the sample's labels say so.
 *
 * A call is identified by its thread and its begin. It lasted at least until the last sample with it, and
 * exactly until its return if that was seen. Otherwise it ended before the thread's first sample on the same
 * stack without it, or before another call took its place on the stack.
 */
struct spans {
	/* The host's */
	const char *name; /* of the probe: the value of the label SPANS_LABEL */
	uint64_t min_ns;  /* the least time of a call */
	const struct probed_code *code;
	const struct value_labels *values;
	const struct redaction *redaction; /* NULL: none */
	/*
	 * Probes are added while sampling (call_table.h): name and code are NULL, min_ns is the longest so far, and
	 * samples outside of calls count, too.
	 */
	bool are_added;
	/* Read by the host */
	uint64_t n_outside;      /* samples in no call that took long enough: left out */
	uint64_t n_unknown;      /* samples for which that is not known */
	struct span_times times; /* of calls that were not seen to return */
	/* Private */
	struct span_call *calls;
	struct span_thread *threads;
	struct owned_sample *first, *last; /* that wait */
	size_t n_bytes;                    /* of these */
	struct label_set *unknown;         /* labels */
};

/* Each sample has this label. */
#define SPANS_LABEL "span"

/* If not, nothing is ever kept. */
static inline bool spans_are_wanted(const struct spans *spans)
{
	return spans->name != NULL || spans->are_added;
}

/* Whether a sample with these calls has to be kept: it has to wait, or earlier samples do. */
static inline bool spans_hold(const struct spans *spans, const struct span_list *calls)
{
	return spans->name || (spans->are_added && (calls->n > 0 || spans->first));
}

void spans_done(struct spans *spans);

/* Records of the kernel, in any order. 0, -ENOMEM, or -EBADMSG for one that no kernel sends. */
int spans_on_begin(struct spans *spans, const struct dp_span_begin *begin);
int spans_on_end(struct spans *spans, const struct dp_span_end *record);

/*
 * Finds out which calls are on the stack of a sample (span_list_take()), and notes them (spans_see()). 0 or
 * -ENOMEM.
 */
int spans_find(struct spans *spans, const struct dp_spans *raw, const struct snapshot *snapshot,
	       const struct sample *sample, struct span_list *ret);

/*
 * Notes that a thread had these calls, and no others, on its stack at a time. Call it in order of time;
 * when a thread has blocked, also for the end of that interval. 0 or -ENOMEM.
 */
int spans_see(struct spans *spans, pid_t tid, const struct span_list *calls, uint64_t time_ns);

/* Takes over a sample, also on failure, whose calls have been noted. 0 or -ENOMEM. */
int spans_keep(struct spans *spans, struct owned_sample *kept);

/*
 * Passes on samples, in the order of spans_keep(), until one has to wait. The calls of all samples from
 * before settled_ns have been noted. Samples from before before_ns do not wait. 0, -ENOMEM, or a negative
 * errno of report().
 */
int spans_release(struct spans *spans, uint64_t settled_ns, uint64_t before_ns,
		  int (*report)(void *arg, const struct sample *sample), void *arg);

/* At the time at_ns, samples from before the returned time need not wait any more. */
static inline uint64_t spans_limit(const struct spans *spans, uint64_t at_ns)
{
	uint64_t wait_ns = spans->min_ns + SPANS_WAIT_NS;

	return at_ns > wait_ns ? at_ns - wait_ns : 0;
}

/* Forgets calls of which no more samples can arrive; settled_ns is as above; UINT64_MAX: all. */
void spans_forget(struct spans *spans, uint64_t settled_ns);

#endif
