// SPDX-License-Identifier: Apache-2.0
#include "recording/recording_context.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "recording/recording.h"

void recording_put_text(struct bytes *b, const char *key, const char *value)
{
	if (!value)
		return;
	bytes_put_text(b, key);
	bytes_put_text(b, value);
}

void recording_put_number(struct bytes *b, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	recording_put_text(b, key, text);
}

static void put_several(struct bytes *b, const struct report_context *context)
{
	for (size_t i = 0; i < context->n_several; i++) {
		char key[RECORDING_KEY_SIZE];

		snprintf(key, sizeof(key), RECORDING_KEY_EVENT, i);
		recording_put_text(b, key, context->several[i].name);
		snprintf(key, sizeof(key), RECORDING_KEY_COUNTS, i);
		recording_put_text(b, key, context->several[i].counts);
		if (!context->several[i].value)
			continue;
		snprintf(key, sizeof(key), RECORDING_KEY_VALUE, i);
		recording_put_text(b, key, context->several[i].value);
		snprintf(key, sizeof(key), RECORDING_KEY_UNIT, i);
		recording_put_text(b, key, context->several[i].value_unit);
	}
}

static void put_more(struct bytes *b, const struct report_context *context)
{
	for (size_t i = 0; i < context->n_more; i++) {
		char key[RECORDING_KEY_SIZE];

		snprintf(key, sizeof(key), RECORDING_KEY_MORE, i);
		recording_put_text(b, key, context->more[i].name);
		snprintf(key, sizeof(key), RECORDING_KEY_MORE_UNIT, i);
		recording_put_text(b, key, context->more[i].unit);
	}
}

void recording_put_context(struct bytes *b, const struct report_context *context)
{
	const struct value measured = value_measured(context);

	recording_put_text(b, "target", context->target);
	recording_put_text(b, "event", context->event);
	recording_put_text(b, "counts", context->counts);
	recording_put_text(b, "value", context->value);
	recording_put_text(b, "value_unit", context->value_unit);
	put_more(b, context);
	put_several(b, context);
	recording_put_text(b, "command", context->command);
	recording_put_text(b, "host", context->host);
	recording_put_text(b, "kernel", context->kernel);
	recording_put_text(b, "version", DP_VERSION);
	recording_put_number(b, "hz", context->hz);
	recording_put_number(b, "period", context->period);
	recording_put_number(b, "events", context->events);
	/* For readers that do not know `events`. */
	recording_put_number(b, "time", value_is_time(&measured));
	recording_put_number(b, "wall", value_other_event(context) != NULL);
	recording_put_number(b, "started_ns", context->started_ns);
	recording_put_number(b, "started_real_ns", context->started_real_ns);
}

const char *recording_context_text(const struct recording_context *context, const char *key)
{
	for (size_t i = 0; i < context->n_texts; i += 2)
		if (strcmp(context->texts[i], key) == 0)
			return context->texts[i + 1];
	return NULL;
}

void recording_context_done(struct recording_context *context)
{
	for (size_t i = 0; i < context->n_texts; i++)
		free(context->texts[i]);
	context->n_texts = 0;
}

static uint64_t context_number(const struct recording_context *r, const char *key)
{
	const char *text = recording_context_text(r, key);

	return text ? strtoull(text, NULL, 10) : 0;
}

/*
 * The sampled kinds of events. Old recordings only say whether blocks were sampled, and anything
 * else.
 */
static unsigned int context_events(const struct recording_context *r)
{
	if (recording_context_text(r, "events"))
		return context_number(r, "events") & (EVENT_BIT(DP_N_EVENTS) - 1);
	if (!context_number(r, "time"))
		return EVENT_BIT(DP_EVENT_CPU);
	return EVENT_BIT(DP_EVENT_OFF_CPU) |
	       (context_number(r, "wall") ? EVENT_BIT(DP_EVENT_CPU) : 0);
}

/* One that was made of recordings of different rates: its threads that ran have times, but no rate. */
static bool is_timed(const struct recording_context *r, size_t n_several)
{
	return recording_context_text(r, "events") && context_number(r, "time") &&
	       !context_number(r, "hz") && n_several == 0 &&
	       (context_events(r) & EVENT_BIT(DP_EVENT_CPU));
}

/* Of the i-th event. */
__attribute__((format(printf, 2, 0))) static const char *
text_of_event(const struct recording_context *r, const char *form, size_t i)
{
	char key[RECORDING_KEY_SIZE];

	snprintf(key, sizeof(key), form, i);
	return recording_context_text(r, key);
}

static void read_several(struct recording_context *r)
{
	size_t n = 0;

	for (; n < REPORT_EVENTS_MAX; n++) {
		const struct report_event event = {
			.name = text_of_event(r, RECORDING_KEY_EVENT, n),
			.counts = text_of_event(r, RECORDING_KEY_COUNTS, n),
			.value = text_of_event(r, RECORDING_KEY_VALUE, n),
			.value_unit = text_of_event(r, RECORDING_KEY_UNIT, n),
		};

		if (!event.name || !event.counts)
			break;
		r->several[n] = event;
	}
	r->context.several = r->several;
	r->context.n_several = n;
}

static void read_more(struct recording_context *r)
{
	size_t n = 0;

	for (; n < REPORT_NUMBERS_MAX; n++) {
		r->more[n].name = text_of_event(r, RECORDING_KEY_MORE, n);
		r->more[n].unit = text_of_event(r, RECORDING_KEY_MORE_UNIT, n);
		if (!r->more[n].name)
			break;
	}
	r->context.more = r->more;
	r->context.n_more = r->context.value ? n : 0;
}

/* What --value cannot have named is of no recording that was made with it, and would be a key of formats. */
static bool is_plain_value(const char *name, const char *unit)
{
	return (!name || (*name && text_is_plain(name))) && (!unit || text_is_plain(unit));
}

static bool has_plain_values(const struct recording_context *r)
{
	for (size_t i = 0; i < r->context.n_several; i++)
		if (!is_plain_value(r->several[i].value, r->several[i].value_unit))
			return false;
	for (size_t i = 0; i < r->context.n_more; i++)
		if (!is_plain_value(r->more[i].name, r->more[i].unit))
			return false;
	return is_plain_value(r->context.value, r->context.value_unit);
}

/* The limit of -F; 0 is for events without a clock. */
#define MAX_HZ 1000000

int recording_context_read(struct view *v, struct recording_context *ret)
{
	while (!view_is_empty(v) && ret->n_texts < 2 * RECORDING_MAX_TEXTS)
		for (int i = 0; i < 2; i++) {
			ret->texts[ret->n_texts] = view_new_text(v);
			if (!ret->texts[ret->n_texts++])
				return -ENOMEM;
		}
	ret->context = (struct report_context){
		.target = recording_context_text(ret, "target"),
		.event = recording_context_text(ret, "event"),
		.counts = recording_context_text(ret, "counts"),
		.value = recording_context_text(ret, "value"),
		.value_unit = recording_context_text(ret, "value_unit"),
		.command = recording_context_text(ret, "command"),
		.host = recording_context_text(ret, "host"),
		.kernel = recording_context_text(ret, "kernel"),
		.hz = (unsigned int)context_number(ret, "hz"),
		.period = (unsigned int)context_number(ret, "period"),
		.events = context_events(ret),
		.started_ns = context_number(ret, "started_ns"),
		.started_real_ns = context_number(ret, "started_real_ns"),
	};
	read_several(ret);
	read_more(ret);
	ret->context.timed = is_timed(ret, ret->context.n_several);
	return v->failed || !ret->context.target || !ret->context.event || !has_plain_values(ret) ||
			       context_number(ret, "hz") > MAX_HZ ?
		       -EBADMSG :
		       0;
}

/* Each has a time, but those of several events are only counted. */
static bool has_times(const struct report_context *context)
{
	return (context->hz > 0 || context->timed) && context->n_several == 0;
}

static bool are_of_same_events(const struct report_context *x, const struct report_context *y)
{
	bool are_same = text_is_same(x->event, y->event) && text_is_same(x->counts, y->counts) &&
			x->period == y->period && x->events == y->events &&
			x->n_several == y->n_several && x->n_more == y->n_more &&
			text_is_same(x->value, y->value) &&
			text_is_same(x->value_unit, y->value_unit);

	for (size_t i = 0; are_same && i < x->n_more; i++)
		are_same = text_is_same(x->more[i].name, y->more[i].name) &&
			   text_is_same(x->more[i].unit, y->more[i].unit);
	for (size_t i = 0; are_same && i < x->n_several; i++)
		are_same = text_is_same(x->several[i].name, y->several[i].name) &&
			   text_is_same(x->several[i].value, y->several[i].value) &&
			   text_is_same(x->several[i].value_unit, y->several[i].value_unit);
	return are_same;
}

bool recording_context_rates_differ(const struct recording_context *a,
				    const struct recording_context *b)
{
	const struct report_context *x = &a->context, *y = &b->context;

	return (x->hz != y->hz || x->timed != y->timed) && has_times(x) && has_times(y) &&
	       are_of_same_events(x, y);
}

bool recording_context_is_alike(const struct recording_context *a,
				const struct recording_context *b)
{
	const struct report_context *x = &a->context, *y = &b->context;

	if (x->timed)
		return has_times(y) && are_of_same_events(x, y);
	return x->hz == y->hz && !y->timed && are_of_same_events(x, y);
}
