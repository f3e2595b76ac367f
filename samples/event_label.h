/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_EVENT_LABEL_H
#define DP_SAMPLES_EVENT_LABEL_H

#include <stddef.h>

#include "report/report_context.h"
#include "samples/label_source.h"

/* The events of a run that samples several. The caller keeps the names. */
struct event_labels {
	struct label_source source;
	const struct report_event *events; /* by number, dp_sample.state */
	size_t n;
};

/* Fills in the source of the label REPORT_EVENT, with the name of a sample's event. */
void event_labels_init(struct event_labels *ret, const struct report_event *events, size_t n);

#endif
