// SPDX-License-Identifier: Apache-2.0
#include "samples/event_label.h"

static int add(const struct label_source *source, const struct label_context *context,
	       struct label_list *list)
{
	const struct event_labels *labels = source->arg;
	const struct dp_sample *sample = &context->named->sample;
	size_t number = sample->state;
	const struct label label = { .key = REPORT_EVENT,
				     .text = sample->event == DP_EVENT_UPROBE ? REPORT_PROBE_EVENT :
					     number < labels->n ? labels->events[number].name :
								  "" };

	/* Else a program could have its samples counted for other events. */
	label_list_remove(list, REPORT_EVENT);
	return label_list_add(list, &label);
}

void event_labels_init(struct event_labels *ret, const struct report_event *events, size_t n)
{
	*ret = (struct event_labels){
		.source = { .name = "event", .arg = ret, .add = add },
		.events = events,
		.n = n,
	};
}
