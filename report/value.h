/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_VALUE_H
#define DP_REPORT_VALUE_H

#include "report/profile.h"
#include "report/report.h"

/*
 * What samples are worth: how many events they stand for, and for each kind of event that takes
 * time, how long that was. What a kind has is a row in value.c; formats take names and units from
 * here.
 */
struct value {
	const char *name, *unit; /* "cpu", "nanoseconds" */
	unsigned int events;     /* that have it: EVENT_BIT of each kind */
	uint64_t scale;          /* what each event is worth; 0: that was measured */
};

/* The number, the time of each kind, and of all together. */
#define VALUES_MAX (DP_N_EVENTS + 2)

/*
 * The values that samples of a report have: their number is the first one, and what is of most
 * interest the last one. Returns how many there are. The strings live as long as the context's.
 */
size_t values_of(const struct report_context *context, struct value ret[VALUES_MAX]);

/* The last one of them: how long a sample stands for, or, where events are no time, how many. */
struct value value_main(const struct report_context *context);

/* What was measured of the samples, else their number: what reports for people add up. */
struct value value_measured(const struct report_context *context);

/* Is it a time, in nanoseconds? */
bool value_is_time(const struct value *value);

/* What it is of a sample, of a stack, of all samples, and of those that were lost. */
uint64_t value_of_sample(const struct value *value, const struct sample *sample);
uint64_t value_of_stack(const struct value *value, const struct stack *stack);
uint64_t value_of_totals(const struct value *value, const struct totals *totals);
uint64_t value_of_lost(const struct value *value, const struct totals *totals);

/* How the event of a sample is called: "off-cpu", "cycles". */
const char *value_event_name(const struct report_context *context, enum dp_event event);

/* The event that is sampled beside the one that the run is called by: "off-cpu"; NULL: none is. */
const char *value_other_event(const struct report_context *context);

#endif
