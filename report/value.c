// SPDX-License-Identifier: Apache-2.0
#include "report/value.h"

#include <string.h>

#include "base/array.h"
#include "base/sum.h"

#define NS_PER_S 1000000000
#define NANOSECONDS "nanoseconds"
#define COUNT "count"

/* The value of samples by kind of event, besides their number. */
static const struct {
	const char *event;       /* its name; NULL: the run's event's */
	const char *name, *unit; /* of its time; NULL: it has none */
	bool is_measured;        /* the time is measured; else it follows from the rate */
} rows[DP_N_EVENTS] = {
	[DP_EVENT_CPU] = { NULL, "cpu", NANOSECONDS, false },
	[DP_EVENT_OFF_CPU] = { "off-cpu", "off_cpu", NANOSECONDS, true },
	[DP_EVENT_CRASH] = { "crash", NULL, NULL, false },
	[DP_EVENT_HELD] = { "held", NULL, NULL, false },
};

#define ALLOC EVENT_BIT(DP_EVENT_ALLOC)
#define HELD EVENT_BIT(DP_EVENT_HELD)
/* What has numbers that are read at each event. */
#define PROBES (EVENT_BIT(DP_EVENT_UPROBE) | EVENT_BIT(DP_EVENT_TRACE))

/* Of memory, by the names that pprof's heap profiles have; the main one is last. */
static const struct value of_memory[] = {
	{ "alloc_objects", COUNT, ALLOC, 1, NULL, 0, false },
	{ "inuse_objects", COUNT, HELD, 1, NULL, 0, false },
	{ "inuse_space", "bytes", HELD, 0, NULL, 0, false },
	{ "alloc_space", "bytes", ALLOC, 0, NULL, 0, false },
};

bool value_is_memory(const struct report_context *context)
{
	return context->events & ALLOC;
}

bool value_is_held(const struct value *value)
{
	return value->events == HELD;
}

static bool has_measured_kind(const struct report_context *context)
{
	for (unsigned int i = 0; i < DP_N_EVENTS; i++)
		if ((context->events & EVENT_BIT(i)) && rows[i].is_measured)
			return true;
	return false;
}

/* True if samples have durations. If those of one kind have, those of all have. */
static bool is_measured(const struct report_context *context)
{
	return context->timed || has_measured_kind(context) || value_is_memory(context) ||
	       context->value;
}

/* The kinds of events with times in a report. */
static unsigned int timed_events(const struct report_context *context)
{
	unsigned int timed = 0;

	if (context->hz == 0 && !is_measured(context))
		return 0;
	for (unsigned int i = 0; i < DP_N_EVENTS; i++)
		if ((context->events & EVENT_BIT(i)) && rows[i].name)
			timed |= EVENT_BIT(i);
	return timed;
}

static struct value count_of(const struct report_context *context)
{
	struct value value = {
		.unit = COUNT, .events = ~0U, .scale = 1, .period = context->period
	};

	if (context->counts)
		value.name = context->counts;
	else
		value.name = has_measured_kind(context) || (context->hz == 0 && !context->timed) ?
				     "events" :
				     "samples";
	return value;
}

static struct value own_value(const char *name, const char *unit, const char *event)
{
	return (struct value){ .name = name,
			       .unit = unit ? unit : COUNT,
			       .events = PROBES,
			       .event = event,
			       .is_own = true };
}

/* The first number of --value is the main one. */
static size_t values_of_numbers(const struct report_context *context, struct value *ret)
{
	size_t n = 0;

	for (; n < context->n_more && n < REPORT_NUMBERS_MAX; n++) {
		ret[n] = own_value(context->more[n].name, context->more[n].unit, NULL);
		ret[n].label = context->more[n].name;
	}
	ret[n++] = own_value(context->value, context->value_unit, NULL);
	return n;
}

static size_t values_of_several(const struct report_context *context, struct value ret[VALUES_MAX])
{
	size_t n = 0;

	for (; n < context->n_several && n < REPORT_EVENTS_MAX; n++)
		ret[n] = (struct value){ context->several[n].counts, COUNT, ~0U, 1,
					 context->several[n].name };
	for (size_t i = 0; i < context->n_several && i < REPORT_EVENTS_MAX; i++) {
		const struct report_event *event = &context->several[i];

		if (event->value)
			ret[n++] = own_value(event->value, event->value_unit, event->name);
	}
	return n;
}

size_t values_of(const struct report_context *context, struct value ret[VALUES_MAX])
{
	unsigned int timed = timed_events(context);
	uint64_t scale = is_measured(context) || context->hz == 0 ? 0 : NS_PER_S / context->hz;
	size_t n = 0;

	_Static_assert(DP_N_EVENTS + 2 <= VALUES_MAX && REPORT_NUMBERS_MAX + 2 <= VALUES_MAX,
		       "all kinds");
	if (context->n_several > 0)
		return values_of_several(context, ret);
	if (value_is_memory(context)) {
		memcpy(ret, of_memory, sizeof(of_memory));
		return ARRAY_SIZE(of_memory);
	}
	ret[n++] = count_of(context);
	if (context->value)
		return n + values_of_numbers(context, ret + n);
	for (unsigned int i = 0; i < DP_N_EVENTS; i++)
		if (timed & EVENT_BIT(i))
			ret[n++] =
				(struct value){ rows[i].name, rows[i].unit, EVENT_BIT(i), scale };
	if (n > 2)
		ret[n++] = (struct value){ "wall", NANOSECONDS, timed, scale };
	if (context->main_value && n > 2) {
		ret[1] = ret[n - 1];
		n = 2;
	}
	return n;
}

struct value value_main(const struct report_context *context)
{
	struct value values[VALUES_MAX];
	size_t n = values_of(context, values);

	return context->n_several > 0 ? count_of(context) : values[n - 1];
}

struct value value_measured(const struct report_context *context)
{
	return is_measured(context) ? value_main(context) : count_of(context);
}

bool value_is_time(const struct value *value)
{
	return strcmp(value->unit, NANOSECONDS) == 0;
}

const char *value_noun(const struct value *value)
{
	if (strcmp(value->unit, COUNT) != 0)
		return value->unit;
	return value->is_own ? value->name : "events";
}

static uint64_t value_of(const struct value *value, uint64_t events, uint64_t measured)
{
	return value->scale > 0 ? events * value->scale : measured;
}

bool value_label_number(const char *key, const struct label_set *labels, uint64_t *ret)
{
	struct label label;
	size_t at = 0;

	*ret = 0;
	while (label_set_next(labels, &at, &label))
		if (!label.text && label.number >= 0 && strcmp(label.key, key) == 0) {
			*ret = (uint64_t)label.number;
			return true;
		}
	return false;
}

static uint64_t sum_of_label(const char *key, const struct label_set *labels, uint64_t n)
{
	uint64_t number;

	return value_label_number(key, labels, &number) ? sum_of_equal(n, number) : 0;
}

static bool is_counted(const struct value *value, const struct label_set *labels)
{
	return !value->event || label_set_has(labels, REPORT_EVENT, value->event);
}

uint64_t value_of_sample(const struct value *value, const struct sample *sample)
{
	if (!(value->events & EVENT_BIT(sample->event)) || !is_counted(value, sample->labels))
		return 0;
	if (value->label)
		return sum_of_label(value->label, sample->labels, sample->weight);
	return value_of(value, sample->weight, sample_sum(sample));
}

uint64_t value_of_stack(const struct value *value, const struct stack *stack)
{
	if (!(value->events & EVENT_BIT(stack->common.event)) ||
	    !is_counted(value, stack->common.labels))
		return 0;
	if (value->label)
		return sum_of_label(value->label, stack->common.labels, stack->count);
	return value_of(value, stack->count, stack->time_ns);
}

uint64_t value_of_totals(const struct value *value, const struct totals *totals)
{
	if (value_is_held(value))
		return value_of(value, totals->held, totals->held_bytes);
	return value_of(value, totals->events, totals->time_ns);
}

/* As many as the others on average. */
static uint64_t value_of_lost_sum(const struct totals *totals)
{
	const uint64_t samples = totals->samples, sum = totals->time_ns;

	if (samples == 0)
		return 0;
	return sum_of(sum_of_equal(sum / samples, totals->lost),
		      sum_of_equal(sum % samples, totals->lost) / samples);
}

uint64_t value_of_lost(const struct value *value, const struct totals *totals)
{
	uint64_t samples = totals->samples > 0 ? totals->samples : 1;
	uint64_t events = totals->samples > 0 ? totals->events :
			  value->period > 0   ? value->period :
						1;

	if (value_is_held(value))
		return 0;
	return value_of(value,
			totals->lost * (events / samples) +
				totals->lost * (events % samples) / samples,
			value->events == ALLOC || value->is_own ? value_of_lost_sum(totals) :
								  totals->lost_ns);
}

size_t value_event_number(const struct report_context *context, const struct sample *sample)
{
	size_t i = 0;

	while (i + 1 < context->n_several &&
	       !label_set_has(sample->labels, REPORT_EVENT, context->several[i].name))
		i++;
	return i;
}

/* Is it of a probe that was added while something else was sampled? */
static bool is_added(const struct report_context *context, const struct sample *sample)
{
	const unsigned int others = EVENT_BIT(DP_EVENT_CPU) | EVENT_BIT(DP_EVENT_OFF_CPU);

	return sample->event == DP_EVENT_UPROBE && (context->events & others);
}

const char *value_event_name(const struct report_context *context, const struct sample *sample)
{
	if (is_added(context, sample))
		return REPORT_PROBE_EVENT;
	if (context->n_several > 0)
		return context->several[value_event_number(context, sample)].name;
	return rows[sample->event].event ? rows[sample->event].event : context->event;
}

const char *value_own_name(const struct report_context *context, const struct sample *sample)
{
	if (!(EVENT_BIT(sample->event) & PROBES))
		return NULL;
	return context->n_several > 0 ?
		       context->several[value_event_number(context, sample)].value :
		       context->value;
}

bool value_own_is_missing(const struct report_context *context, const struct sample *sample)
{
	const char *name = value_own_name(context, sample);
	struct label label;
	size_t at = 0;

	while (name && sample->value_ns == 0 && label_set_next(sample->labels, &at, &label))
		if (strcmp(label.key, name) == 0)
			return true;
	return false;
}

const char *value_other_event(const struct report_context *context)
{
	bool has_main = false;
	const char *other = NULL;

	for (unsigned int i = 0; i < DP_N_EVENTS; i++) {
		if (!(context->events & EVENT_BIT(i)))
			continue;
		if (rows[i].event && rows[i].name)
			other = rows[i].event;
		has_main |= !rows[i].event;
	}
	return has_main ? other : NULL;
}
