/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_DELIVERY_REPORT_H
#define DP_AGENT_DELIVERY_REPORT_H

#include <stdatomic.h>

#include "agent/series.h"
#include "deliver/deliver.h"
#include "report/report.h"

struct relabel;
struct series_memory;

/* Samples that were dropped or lost labels before delivery. Any thread may read it. */
struct delivery_counts {
	_Atomic uint64_t dropped; /* samples, by rules */
	_Atomic uint64_t
		kept[SERIES_N_KEPT]; /* samples, of too many sets of labels but for the first */
};

/* How a backend's profiles are made. */
struct delivery {
	struct deliver *deliver;
	enum deliver_protocol protocol;
	const struct deliver_label *labels; /* added to all profiles */
	size_t n_labels;
	const struct relabel *all_rules, *own_rules; /* NULL: none */
	struct series_memory *memory;                /* of earlier reports; NULL: none */
	size_t max_label_sets;                       /* that the backend gets */
	size_t max_frames;                           /* of a stack; 0: Pyroscope's limit, or none */
	struct delivery_counts *counts;
};

/*
 * Makes a report that puts its samples into the spool when it is finished: as requests of OTLP, or as
 * one profile for each kind of samples and set of labels (series.h), as Pyroscope takes them. What the
 * delivery points to must outlive it. The context's start may be changed before the first sample. 0
 * or -ENOMEM.
 */
int delivery_report_new(const struct delivery *delivery, const struct report_context *context,
			struct report **ret);

#endif
