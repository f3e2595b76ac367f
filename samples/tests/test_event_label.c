// SPDX-License-Identifier: Apache-2.0
/* The event of a sample, as a label. */
#include <criterion/criterion.h>

#include "samples/event_label.h"

static const struct report_event events[] = { { .name = "first" }, { .name = "second" } };

/* Of a sample of the second event, or of a probe, with a label that the program has set. */
static struct label_set *label(__u8 event)
{
	const struct {
		struct dp_names names;
		struct dp_sample sample;
	} record = { .sample = { .event = event, .state = 1 } };
	const struct label_context context = { .named = (const void *)&record };
	_cleanup_(label_list_done) struct label_list list = { 0 };
	struct event_labels labels;
	struct label_set *set;

	event_labels_init(&labels, events, 2);
	cr_assert_eq(label_list_add(&list, &(struct label){ .key = REPORT_EVENT, .text = "first" }),
		     0);
	cr_assert_eq(labels.source.add(&labels.source, &context, &list), 0);
	cr_assert_eq(label_set_new(&list, &set), 0);
	return set;
}

Test(event_label, is_what_was_sampled_whatever_the_program_says)
{
	_cleanup_(label_set_freep) struct label_set *counted = label(DP_EVENT_CPU);
	_cleanup_(label_set_freep) struct label_set *hit = label(DP_EVENT_UPROBE);

	cr_assert(label_set_has(counted, REPORT_EVENT, "second"));
	cr_assert(!label_set_has(counted, REPORT_EVENT, "first"));
	cr_assert(label_set_has(hit, REPORT_EVENT, REPORT_PROBE_EVENT));
	cr_assert(!label_set_has(hit, REPORT_EVENT, "first"));
}
