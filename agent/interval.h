/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_INTERVAL_H
#define DP_AGENT_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/seldom.h"
#include "agent/window.h"
#include "report/report.h"

struct backend;
struct backend_options;
struct process_labels;
struct recent;
struct store;

/* Where an interval goes. Exactly one of store, backend (with backend_options) and recent is set. */
struct interval_output {
	struct store *store;
	struct backend *backend;
	const struct backend_options *backend_options;
	struct recent *recent;
	bool named; /* recent only: look up names even if nobody has looked (recent_report_new()) */
};

/*
 * A report that passes the samples of an interval on to one report per output. If an output cannot be written,
 * it is dropped and the others continue.
 */
struct interval;

/* What became of intervals; any thread may read it. */
struct interval_counts {
	_Atomic uint64_t written, failed; /* outputs but those of a minute */
	_Atomic uint64_t unlabelled;      /* processes, see process_labels.h */
	_Atomic int store_err;            /* the last one, negative, and when */
	_Atomic uint64_t store_failed_real_ns;
	struct seldom store_failures, recent_failures; /* backends have their own */
};

/*
 * The arguments must outlive the interval. Samples get the labels of their processes (`labels` NULL: none). It
 * begins at context.started_ns, or where the window does. Logs errors. 0 or a negative errno.
 */
int interval_new(const struct interval_output *outputs, size_t n,
		 const struct report_context *context, const struct window *window,
		 struct process_labels *labels, struct interval_counts *counts,
		 struct interval **ret);

struct report *interval_report(struct interval *interval);

/* Sets when it begins, before its first sample. */
void interval_begin(struct interval *interval, uint64_t started_ns, uint64_t started_real_ns);

/* Writes the files and frees the interval. The totals are those of all samples that it got. */
void interval_finish(struct interval *interval, const struct totals *totals);

/* Leaves no files. Accepts NULL. Returns NULL. */
struct interval *interval_free(struct interval *interval);

#endif
