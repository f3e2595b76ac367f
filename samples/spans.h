/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_SPANS_H
#define DP_SAMPLES_SPANS_H

#include "limits/limits.h"
#include "report/span_times.h"
#include "samples/kept_sample.h"

struct label_set;
struct probed_code;
struct redaction;
struct span_call;
struct span_thread;
struct value_labels;

/*
 * Samples that count only if a probed call on their stack took long enough. Most of them wait, as only the
 * call's end tells: in order of time, for a while, and up to a size. What is not known by then is labelled
 * as such.
 *
 * A call is known by its thread and its begin. It took at least as long as samples have met it, and exactly as
 * long as its return says. If none does, it was over by the first sample of the thread on the same stack
 * without it, or when another call had its place on the stack.
 */
struct spans {
	/* The host's */
	const char *name; /* of the probe: the value of the label SPANS_LABEL */
	uint64_t min_ns;  /* the least time of a call */
	const struct probed_code *code;
	const struct value_labels *values;
	const struct redaction *redaction; /* NULL: none */
	/*
	 * Probes are added meanwhile (call_table.h): name and code are NULL, min_ns is the longest so far, and
	 * the other samples count, too.
	 */
	bool are_added;
	/* Read by the host */
	uint64_t n_outside;      /* samples in no call that took long enough: left out */
	uint64_t n_unknown;      /* samples of which that is not known */
	struct span_times times; /* of calls that were not seen to return */
	/* Private */
	struct span_call *calls;
	struct span_thread *threads;
	struct kept_sample *first, *last; /* that wait */
	size_t n_bytes;                   /* of these */
	struct label_set *unknown;        /* labels */
};

/* Each sample has this label. */
#define SPANS_LABEL "span"

/* Else, nothing is ever kept. */
static inline bool spans_are_wanted(const struct spans *spans)
{
	return spans->name != NULL || spans->are_added;
}

/* Has a sample with these calls to be kept: for itself, or as others wait that are to be reported before? */
static inline bool spans_hold(const struct spans *spans, const struct span_list *calls)
{
	return spans->name || (spans->are_added && (calls->n > 0 || spans->first));
}

void spans_done(struct spans *spans);

/* Records of the kernel, in any order. 0, -ENOMEM, or -EBADMSG for one that no kernel sends. */
int spans_on_begin(struct spans *spans, const struct dp_span_begin *begin);
int spans_on_end(struct spans *spans, const struct dp_span_end *record);

/*
 * Finds out which calls are on the stack of a sample (span_list_take()), and sees them (spans_see()). 0 or
 * -ENOMEM.
 */
int spans_find(struct spans *spans, const struct dp_spans *raw, const struct snapshot *snapshot,
	       const struct sample *sample, struct span_list *ret);

/*
 * A thread had these calls, and no others, on its stack at a time. Must be called in order of time, if a thread
 * blocks also for the end of that. 0 or -ENOMEM.
 */
int spans_see(struct spans *spans, pid_t tid, const struct span_list *calls, uint64_t time_ns);

/* Takes a sample, also on failure, whose calls have been seen. 0 or -ENOMEM. */
int spans_keep(struct spans *spans, struct kept_sample *kept);

/*
 * Passes on, in the order of spans_keep(), samples until one has to wait. All samples from before settled_ns have
 * been seen. Those from before before_ns do not wait. 0, -ENOMEM, or a negative errno of report().
 */
int spans_release(struct spans *spans, uint64_t settled_ns, uint64_t before_ns,
		  int (*report)(void *arg, const struct sample *sample), void *arg);

/* From before which time samples need not wait any more, at this one. */
static inline uint64_t spans_limit(const struct spans *spans, uint64_t at_ns)
{
	uint64_t wait_ns = spans->min_ns + SPANS_WAIT_NS;

	return at_ns > wait_ns ? at_ns - wait_ns : 0;
}

/* Forgets calls of which no other sample can come; settled_ns as above, UINT64_MAX: all. */
void spans_forget(struct spans *spans, uint64_t settled_ns);

#endif
