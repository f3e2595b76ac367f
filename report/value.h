/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_VALUE_H
#define DP_REPORT_VALUE_H

#include "report/profile.h"
#include "report/report.h"

/*
 * Values of samples: the number of events, and for each kind of event with a duration, the time. A
 * kind is a row in value.c; formats take names and units from here.
 */
struct value {
	const char *name, *unit; /* "cpu", "nanoseconds" */
	unsigned int events;     /* EVENT_BIT of each kind that has it */
	uint64_t scale;          /* value of each event; 0: measured */
	const char *event;       /* counts only samples with this label REPORT_EVENT; NULL: all */
	uint64_t period;         /* events of a sample, if no sample tells */
	bool is_own;             /* of --value: lost ones have as much as the others on average */
	const char *label; /* of --value, if it is not a sample's only one: it has it as a label */
};

#define REPORT_EVENTS_MAX 9
/*
 * The count, the time of each kind, and the total time; or further numbers, and the main one; or the counts of
 * several events, in their order, and then the numbers of those that have one.
 */
#define VALUES_MAX (2 * REPORT_EVENTS_MAX)

/*
 * The values of a report's samples: the first is the count, the last the most important. Returns
 * their number. The strings live as long as the context's.
 */
size_t values_of(const struct report_context *context, struct value ret[VALUES_MAX]);

/* The last of them: a sample's time, or, for events without time, their number. */
struct value value_main(const struct report_context *context);

/* The measured value of samples, else their number: what reports for people add up. */
struct value value_measured(const struct report_context *context);

/* Are they of allocated memory and memory in use? These have bytes where others have a time. */
bool value_is_memory(const struct report_context *context);

/* Is it of what is held, not of what was allocated? */
bool value_is_held(const struct value *value);

/* True if it is a time, in nanoseconds. */
bool value_is_time(const struct value *value);

/* What it is a number of, in words: "bytes", its name, or "events". */
const char *value_noun(const struct value *value);

/*
 * The value of a sample, of a stack, of all samples, and of the lost ones. How many events these
 * stood for is not known: as many as the others on average, which is right for every Nth event. If
 * all were lost, it is the period that was given, else one.
 */
uint64_t value_of_sample(const struct value *value, const struct sample *sample);
uint64_t value_of_stack(const struct value *value, const struct stack *stack);
uint64_t value_of_totals(const struct value *value, const struct totals *totals);
uint64_t value_of_lost(const struct value *value, const struct totals *totals);

/* The name of a sample's event: "off-cpu", "cycles". */
const char *value_event_name(const struct report_context *context, const struct sample *sample);

/* The number of a sample's event among several; 0 if there is one. */
size_t value_event_number(const struct report_context *context, const struct sample *sample);

/*
 * value_own_name(): the name of the number that a sample's event has beside its count; NULL: none. The other: whether
 * the sample lacks it; it is then a label, because it could not be added up.
 */
const char *value_own_name(const struct report_context *context, const struct sample *sample);
bool value_own_is_missing(const struct report_context *context, const struct sample *sample);

/* A number that a sample has as a label. False: it has none, or it is negative, which adds up to nothing. */
bool value_label_number(const char *key, const struct label_set *labels, uint64_t *ret);

/* The event with a time that is sampled besides the run's own: "off-cpu"; NULL: none. */
const char *value_other_event(const struct report_context *context);

#endif
