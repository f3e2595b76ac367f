// SPDX-License-Identifier: Apache-2.0
#include "report/value.h"

#define NS_PER_S 1000000000

/* What samples of each kind of event have, beside their number. */
static const struct {
	const char *event;       /* how it is called; NULL: as the run's event is */
	const char *name, *unit; /* of the time that it takes; NULL: it takes none */
} rows[DP_N_EVENTS] = {
	[DP_EVENT_CPU] = { NULL, "cpu", "nanoseconds" },
	[DP_EVENT_OFF_CPU] = { "off-cpu", "off_cpu", "nanoseconds" },
};

#define EVENT_BIT(event) (1U << (event))

/* Of which kinds of events are there times in a report? */
static unsigned int timed_events(const struct report_context *context)
{
	return (context->hz > 0 ? EVENT_BIT(DP_EVENT_CPU) : 0) |
	       (context->time ? EVENT_BIT(DP_EVENT_OFF_CPU) : 0);
}

static const char *count_name(const struct report_context *context)
{
	if (context->counts)
		return context->counts;
	return context->time || context->hz == 0 ? "events" : "samples";
}

size_t values_of(const struct report_context *context, struct value ret[VALUES_MAX])
{
	unsigned int timed = timed_events(context);
	size_t n = 0;

	ret[n++] = (struct value){ count_name(context), "count", 0 };
	for (unsigned int i = 0; i < DP_N_EVENTS; i++)
		if ((timed & EVENT_BIT(i)) && rows[i].name)
			ret[n++] = (struct value){ rows[i].name, rows[i].unit, EVENT_BIT(i) };
	if (n > 2)
		ret[n++] = (struct value){ "wall", "nanoseconds", timed };
	return n;
}

uint64_t value_of_stack(const struct report_context *context, const struct value *value,
			const struct stack *stack)
{
	if (value->events == 0)
		return stack->count;
	if (!(value->events & EVENT_BIT(stack->common.event)))
		return 0;
	return context->time ? stack->time_ns : stack->count * (NS_PER_S / context->hz);
}

const char *value_event_name(const struct report_context *context, enum dp_event event)
{
	return rows[event].event ? rows[event].event : context->event;
}
