// SPDX-License-Identifier: Apache-2.0
#include "profiler/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kernel/session.h"
#include "profiler/label_probes.h"
#include "profiler/profiler_options.h"

static const struct event_source *const sources[] = {
	&event_cpu,
	&event_off_cpu,
	&event_wall,
	&event_uprobe,
	&event_uretprobe,
	&event_usdt,
	&event_exceptions,
	&event_alloc,
	&event_page_faults,
	&event_minor_faults,
	&event_major_faults,
	&event_context_switches,
	&event_cpu_migrations,
	&event_wakeups,
	&event_cycles,
	&event_instructions,
	&event_cache_references,
	&event_cache_misses,
	&event_branches,
	&event_branch_misses,
	&event_raw,
	&event_crash,
	&event_tracepoint,
	&event_raw_tracepoint,
	&event_fentry,
	&event_kprobe,
};

bool event_has_periods(const struct event *event, unsigned int period)
{
	return event->source->has_period && (event->source->at_rate || period > 1);
}

void event_name(const struct event *event, char ret[EVENT_NAME_SIZE])
{
	const char *argument = event->argument ? event->argument : "";

	snprintf(ret, EVENT_NAME_SIZE, "%s%s%.*s", event->source->name,
		 event->argument && *event->source->argument == ':' ? ":" : "",
		 (int)strcspn(argument, "("), argument);
}

/* The argument in an event that is this source's, or "" if it has none; NULL: it is another's. */
static const char *find_argument(const struct event_source *s, const char *text)
{
	size_t length = strlen(s->name);

	if (strncmp(s->name, text, length) != 0)
		return NULL;
	text += length;
	if (!s->argument)
		return *text == '\0' ? text : NULL;
	if (*s->argument != ':')
		return s->check(s, text) == 0 ? text : NULL;
	return *text == ':' ? text + 1 : NULL;
}

int event_parse(const char *text, struct event *ret)
{
	/* As it is called among the events of other profilers. */
	if (strcmp(text, "sched:wakeup") == 0)
		text = event_wakeups.name;
	*ret = (struct event){ 0 };
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		const struct event_source *s = sources[i];
		const char *argument = find_argument(s, text);

		if (!argument)
			continue;
		*ret = (struct event){ .source = s, .argument = s->argument ? argument : NULL };
		return s->check ? s->check(s, argument) : 0;
	}
	return -EINVAL;
}

static void print_name(const struct event_source *s, FILE *to)
{
	fprintf(to, "%s%s", s->name, s->argument ? s->argument : "");
}

bool event_has_commas(const char *text)
{
	bool has = false;

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		has |= sources[i]->has_commas && find_argument(sources[i], text);
	return has;
}

char *event_find_comma(char *text)
{
	int depth = 0;

	for (; *text; text++) {
		depth += (*text == '(') - (*text == ')');
		if (*text == ',' && depth == 0)
			return text;
	}
	return NULL;
}

bool event_is_same(const struct event *a, const struct event *b)
{
	if (a->source != b->source)
		return false;
	if (a->source->is_same)
		return a->source->is_same(a->argument, b->argument);
	return !a->argument || strcmp(a->argument, b->argument) == 0;
}

bool event_may_join(const struct event *a, const struct event *b)
{
	return (a->source->has_period && b->source->has_period) ||
	       (a->source == b->source && a->source->is_several);
}

static int add_prefix(const struct event_source *s, char **argument)
{
	char *whole;

	if (asprintf(&whole, "%s:%s", s->name, *argument) < 0)
		return -ENOMEM;
	free(*argument);
	*argument = whole;
	return 0;
}

int event_expand(const char *text, struct event_texts *ret, char ret_why[EVENT_TEXT_SIZE])
{
	int err = 0;

	*ret = (struct event_texts){ 0 };
	ret_why[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		const struct event_source *s = sources[i];
		const char *argument = s->expand ? find_argument(s, text) : NULL;

		if (!argument)
			continue;
		err = s->expand(argument, ret, ret_why);
		for (size_t j = 0; err == 0 && j < ret->n; j++)
			err = add_prefix(s, &ret->items[j]);
		break;
	}
	if (err < 0)
		event_texts_done(ret);
	return err;
}

void event_texts_done(struct event_texts *texts)
{
	while (texts->n > 0)
		free(texts->items[--texts->n]);
}

void event_list(FILE *to)
{
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		fputs(i ? ", " : "", to);
		print_name(sources[i], to);
	}
}

void event_text_done(struct event_text *text)
{
	value_forms_free(text->lists, text->n_lists);
	value_forms_free(text->thrown, 1);
	for (size_t i = 0; i < text->n_code; i++)
		free(text->code[i].maybe);
}

/* CPUs' events come last, so that samples do not pile up before the reader starts. */
static int attach_events(const struct event_means *means, const struct profiler_options *o,
			 struct event_text *ret)
{
	int err = o->crashes ? session_sample_crashes(means->session) : 0;
	size_t length;

	if (err == 0)
		err = o->event.source->attach(means, o, ret);
	length = strlen(ret->how);
	if (err == 0 && o->crashes)
		snprintf(ret->how + length, sizeof(ret->how) - length,
			 ", and when a signal ends a process");
	return err;
}

int events_attach(const struct event_means *means, const struct profiler_options *o,
		  struct event_text *ret, struct value_labels *ret_labels, struct spans *ret_spans)
{
	struct event_text probes = { 0 };
	int err = label_probes_attach(means, o, &probes);

	if (err == 0)
		err = attach_events(means, o, ret);
	label_probes_describe(o, &probes, ret, ret_labels, ret_spans);
	return err;
}

/* Neighbours that are sampled in the same way are explained together. */
void event_list_help(FILE *to)
{
	const char *when = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		const struct event_source *s = sources[i];

		if (!s->when)
			continue;
		if (when && strcmp(when, s->when) != 0)
			fprintf(to, ", %s; ", when);
		else if (when)
			fputs(", ", to);
		print_name(s, to);
		when = s->when;
	}
	fprintf(to, ", %s", when);
}
