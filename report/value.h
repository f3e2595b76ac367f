/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_VALUE_H
#define DP_REPORT_VALUE_H

#include "report/profile.h"
#include "report/report.h"

/*
 * What samples are worth: how many events they stand for, and for each kind of event that takes
 * time, how long that was. Formats take names and units from here.
 */
struct value {
	const char *name, *unit; /* "cpu", "nanoseconds" */
	unsigned int
		events; /* bits by enum dp_event: what it is the time of; 0: a number of events */
};

/* The number, the time of each kind, and of all together. */
#define VALUES_MAX (DP_N_EVENTS + 2)

/*
 * The values that samples of a report have: their number is the first one, and what is of most
 * interest the last one. Returns how many there are. The strings live as long as the context's.
 */
size_t values_of(const struct report_context *context, struct value ret[VALUES_MAX]);

/* What one of them is of a stack. */
uint64_t value_of_stack(const struct report_context *context, const struct value *value,
			const struct stack *stack);

/* What is measured of a stack: nanoseconds in a report of times, else the number of events. */
static inline uint64_t value_measured(const struct report_context *context,
				      const struct stack *stack)
{
	return context->time ? stack->time_ns : stack->count;
}

/* How the event of a sample is called: "off-cpu", "cycles". */
const char *value_event_name(const struct report_context *context, enum dp_event event);

#endif
