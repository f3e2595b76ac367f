/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_LABELS_H
#define DP_SAMPLES_LABELS_H

#include "samples/label_source.h"
#include "samples/label_values.h"

/* A host's sources, in addition to the built-in ones. The host owns them. */
struct label_sources {
	const struct label_source *const *items;
	size_t n;
	const struct label_source *event;   /* the profiler's (event_label.h); NULL: none */
	const struct value_labels *values;  /* those of probes (label_values.h); NULL: none */
	const struct label_source *metrics; /* of processes (process_metrics.h); NULL: none */
	const struct redaction *redaction;  /* of texts but the event's; NULL: none */
	struct thread_keys *keys; /* what processes say of themselves; NULL: it is not read */
	bool tells_service;       /* samples also have the service that a process says it is */
};

/*
 * Collects the labels of a sample from all sources. *ret is NULL without labels, and empty and cut
 * if they are not known. The caller frees it. 0, -ENOMEM, or an error of a source.
 */
int labels_new(const struct label_sources *host, const struct label_context *context,
	       struct label_set **ret);

#endif
