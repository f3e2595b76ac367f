// SPDX-License-Identifier: Apache-2.0
#include "cli/event_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "cli/quantity.h"
#include "probes/label_probe.h"

/* In a tenth of a second a CPU counts fewer events than the 32 bits of a sample's weight can tell. */
#define MIN_PERIOD_HZ 10

/* Of the unit of a value; its length */
#define UNIT_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/%"
#define MAX_UNIT 31

void event_options_set(struct options *o, struct argp_state *state, const struct event *event)
{
	struct profiler_options *r = &o->record.profiler;
	bool adds = event_may_join(&r->event, event);

	for (size_t i = 0; o->event_given && i < profiler_n_events(r); i++)
		if (event_is_same(profiler_event(r, i), event))
			return;
	if (o->event_given && event->source->pattern && r->event.source == event->source)
		argp_error(state,
			   "-e takes one %s; a pattern such as '%s:%s*' may select several %s",
			   event->source->name, event->source->name, event->argument,
			   event->source->pattern);
	if (o->event_given && !adds)
		argp_error(
			state,
			"--off-cpu, --wall, --exceptions, --alloc and -e exclude each other; several "
			"events of -e must be all counted events, all tracepoints or all kprobes; "
			"--wall measures time both on and off the CPU");
	if (adds && r->n_others == EVENT_MAX - 1)
		argp_error(state, "-e takes up to %d events", EVENT_MAX);
	if (o->event_given && adds)
		r->others[r->n_others++] = *event;
	else
		r->event = *event;
	o->event_given = true;
}

static void parse_one(struct options *o, struct argp_state *state, const char *text)
{
	_cleanup_free_ char *list = NULL;
	size_t size;
	FILE *to = open_memstream(&list, &size);
	char why[EVENT_TEXT_SIZE] = "";
	struct event event;
	int err = event_parse(text, &event);

	if (to) {
		event_list(to);
		fclose(to);
	}
	if (err == -EINVAL && event.source && event.source->explain)
		event.source->explain(event.source, event.argument, why);
	if (err == -EINVAL && why[0])
		argp_error(state, "-e %s: %s", text, why);
	if (err == -EINVAL)
		argp_error(state, "-e takes one of %s, not '%s'", list, text);
	if (err < 0)
		argp_failure(state, EXIT_CODE_FAILED, -err, "cannot read %.*s",
			     (int)strcspn(event.argument, ":"), event.argument);
	event_options_set(o, state, &event);
}

/* The events refer to the text. */
static void keep_text(struct options *o, struct argp_state *state, char **text)
{
	if (array_reserve(o->event_texts, o->n_event_texts, o->event_texts_size) < 0)
		argp_failure(state, EXIT_CODE_FAILED, ENOMEM, "-e");
	else
		o->event_texts[o->n_event_texts++] = steal_ptr(*text);
}

/* One event, or as many as a glob matches. */
static void parse_some(struct options *o, struct argp_state *state, const char *text)
{
	_cleanup_(event_texts_done) struct event_texts all;
	char why[EVENT_TEXT_SIZE];
	int err = event_expand(text, &all, why);

	if (err == -EINVAL)
		argp_error(state, "-e %s: %s", text, why);
	if (err < 0)
		argp_failure(state, EXIT_CODE_FAILED, -err, "-e %s", text);
	if (all.n == 0)
		parse_one(o, state, text);
	for (size_t i = 0; i < all.n; i++) {
		const char *one = all.items[i];

		keep_text(o, state, &all.items[i]);
		parse_one(o, state, one);
	}
}

void event_options_parse(struct options *o, struct argp_state *state, char *text)
{
	char *end;

	while (!event_has_commas(text) && (end = event_find_comma(text))) {
		*end = '\0';
		parse_some(o, state, text);
		text = end + 1;
	}
	parse_some(o, state, text);
}

void event_options_done(struct options *o)
{
	while (o->n_event_texts > 0)
		free(o->event_texts[--o->n_event_texts]);
	free(o->event_texts);
}

void event_options_set_alloc(struct options *o, struct argp_state *state, const char *size)
{
	uint64_t interval = ALLOC_INTERVAL;

	if (size &&
	    (quantity_parse_size(size, &interval) < 0 || interval > ALLOC_GREATEST_INTERVAL))
		argp_error(state, "--alloc takes a size up to 1G, such as 1 or 512K, not '%s'",
			   size);
	o->record.profiler.alloc_interval = (unsigned int)interval;
	event_options_set(o, state, &(struct event){ .source = &event_alloc });
}

void event_options_set_probe(struct options *o, struct argp_state *state, const char *text)
{
	struct profiler_options *r = &o->record.profiler;
	char why[ARGUMENTS_WHY_SIZE];
	int err = label_probe_check(text, why);

	if (r->n_label_probes == DP_MAX_LABEL_PROBES)
		argp_error(state, "at most %d --probe", DP_MAX_LABEL_PROBES);
	for (size_t i = 0; err == 0 && i < r->n_label_probes; i++)
		err = label_probe_check_both(r->label_probes[i], text, why);
	if (err == -EINVAL)
		argp_error(state, "--probe %s: %s", text, why);
	else if (err < 0)
		argp_failure(state, EXIT_CODE_FAILED, -err, "--probe");
	r->label_probes[r->n_label_probes++] = text;
}

void event_options_set_value(struct options *o, struct argp_state *state, char *text)
{
	struct profiler_options *r = &o->record.profiler;
	char *unit = strchr(text, ':');
	struct own_number *number;

	if (r->n_numbers == EVENT_MAX)
		argp_error(state, "at most %d --value", EVENT_MAX);
	number = &r->numbers[r->n_numbers++];
	*number = (struct own_number){ .name = text };
	if (!unit)
		return;
	*unit++ = '\0';
	if (!*unit || strlen(unit) > MAX_UNIT || unit[strspn(unit, UNIT_CHARACTERS)])
		argp_error(state, "--value takes a unit such as bytes or nanoseconds, not '%s'",
			   unit);
	number->unit = unit;
}

void event_options_set_redaction(struct options *o, struct argp_state *state, const char *regex)
{
	char why[REDACTION_WHY_SIZE];

	if (o->redaction.is_set)
		argp_error(state, "give --redact once: A|B matches both");
	if (redaction_init(&o->redaction, regex, why) < 0)
		argp_error(state, "--redact %s: %s", regex, why);
	o->record.profiler.label_sources.redaction = &o->redaction;
}

/* --crashes: they are the event, or beside another one. */
static void add_crashes(struct options *o, struct argp_state *state)
{
	struct profiler_options *r = &o->record.profiler;

	if (!o->event_given)
		event_options_set(o, state, &(struct event){ .source = &event_crash });
	if (r->n_others > 0)
		argp_error(state, "--crashes goes with one event: give one -e");
	o->output.only_crashes = r->event.source == &event_crash;
	r->crashes = !o->output.only_crashes;
	if (r->crashes && r->sides == DP_SIDES_KERNEL)
		argp_error(state,
			   "-K and --crashes exclude each other: crashes have no kernel stack");
}

static void check_periods(const struct options *o, struct argp_state *state,
			  const struct event *event)
{
	const struct profiler_options *r = &o->record.profiler;
	const struct event_source *s = event->source;

	if (r->period > 0 && !s->has_period)
		argp_error(state, "-c is for events that are counted, such as page-faults, not %s",
			   s->name);
	if (event_has_periods(event, r->period) && r->max_rate > 0)
		argp_error(state,
			   "--max-rate does not go with -c and -e %s: -c or -F sets the rate",
			   s->name);
	if (event_has_periods(event, r->period) && r->period == 0 && r->hz < MIN_PERIOD_HZ)
		argp_error(state, "-e %s needs -F %d or more", s->name, MIN_PERIOD_HZ);
}

/* What is given back has to be seen, whoever does that. */
static void check_alloc(const struct options *o, struct argp_state *state)
{
	const struct profiler_options *r = &o->record.profiler;

	if (r->target.n_tids > 0)
		argp_error(state,
			   "-t and --alloc exclude each other: any thread may free memory; give -p "
			   "with its process");
	if (r->max_rate > 0)
		argp_error(state, "--max-rate does not go with --alloc: --alloc=SIZE takes fewer");
	if (r->crashes)
		argp_error(state, "--alloc and --crashes exclude each other");
}

static void check_probe(const struct profiler_options *r, struct argp_state *state)
{
	const unsigned int probes =
		EVENT_BIT(DP_EVENT_UPROBE) | EVENT_BIT(DP_EVENT_TRACE) | EVENT_BIT(DP_EVENT_ALLOC);
	const struct event_source *s = r->event.source;
	uint64_t min_ns;

	if (s->programs & probes && !s->has_exceptions)
		argp_error(state,
			   "--probe is for CPU and off-CPU samples and exceptions, not -e %s:",
			   s->name);
	if ((r->crashes || s == &event_crash) && label_probe_is_span(r->label_probes[0], &min_ns))
		argp_error(state,
			   "--probe span: and crashes exclude each other: a call that crashes does "
			   "not end; `--probe label:' does not need that");
}

static void check_socket(const struct profiler_options *r, struct argp_state *state)
{
	const unsigned int probes =
		EVENT_BIT(DP_EVENT_UPROBE) | EVENT_BIT(DP_EVENT_TRACE) | EVENT_BIT(DP_EVENT_ALLOC);

	if (r->n_label_probes > 0)
		argp_error(state, "--probe-socket and --probe exclude each other");
	if (r->event.source->programs & probes)
		argp_error(state,
			   "--probe-socket is for CPU, off-CPU and counted samples, not -e %s",
			   r->event.source->name);
	if (r->sides == DP_SIDES_KERNEL)
		argp_error(state,
			   "-K and --probe-socket exclude each other: probes have no kernel stack");
}

static bool has_values(const struct event *event)
{
	return event->argument && event->source->has_values &&
	       event->source->has_values(event->source, event->argument);
}

static void check_numbers(const struct profiler_options *r, struct argp_state *state)
{
	bool have_values = false;

	for (size_t i = 0; i < profiler_n_events(r); i++)
		have_values |= has_values(profiler_event(r, i));
	if (!have_values)
		argp_error(state, "--value is for events of -e with values, such as uprobe:");
	if (profiler_n_events(r) > 1 && r->n_numbers > profiler_n_events(r))
		argp_error(state, "give at most one --value for each of several events of -e");
	for (size_t i = 0; i < r->n_numbers; i++)
		for (size_t j = 0; j < i && profiler_n_events(r) == 1; j++)
			if (strcmp(r->numbers[i].name, r->numbers[j].name) == 0)
				argp_error(state, "--value %s is given twice", r->numbers[i].name);
}

void event_options_complete(struct options *o, struct argp_state *state)
{
	struct profiler_options *r = &o->record.profiler;
	bool at_rate = false;

	if (o->output.crashes)
		add_crashes(o, state);
	if (r->event.source->user_only && r->sides == DP_SIDES_KERNEL)
		argp_error(state,
			   "-K and -e %s exclude each other: its samples have no kernel stack",
			   r->event.source->name);
	for (size_t i = 0; i < profiler_n_events(r); i++) {
		check_periods(o, state, profiler_event(r, i));
		at_rate |= profiler_event(r, i)->source->at_rate;
	}
	if (r->n_numbers > 0)
		check_numbers(r, state);
	if (r->event.source == &event_alloc)
		check_alloc(o, state);
	if (r->n_label_probes > 0)
		check_probe(r, state);
	if (r->probe_socket)
		check_socket(r, state);
	if (r->period > 0 && o->hz_given)
		argp_error(state, "-c and -F exclude each other");
	if (!at_rate && o->hz_given)
		argp_error(state, "-F is for CPU time, --wall and CPU counters");
	if (r->max_rate == 0)
		r->max_rate = r->event.source->max_rate;
}
