// SPDX-License-Identifier: Apache-2.0
#include "profiler/label_probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "kernel/session.h"
#include "kernel/uprobe_places.h"
#include "log/log.h"
#include "profiler/call_places.h"
#include "profiler/event.h"
#include "profiler/probe_file.h"
#include "profiler/probe_lists.h"
#include "profiler/probe_parts.h"
#include "profiler/profiler.h"
#include "samples/spans.h"

#define LABEL PROBE_LABEL ":"
#define SPAN PROBE_SPAN ":"
#define MIN " min="
#define FORMS LABEL "PATH:NAME(VALUES) or " SPAN "PATH:NAME(VALUES) min=TIME"

struct label_probe {
	struct probe_parts parts;
	bool is_span;
	uint64_t min_ns;
};

static void label_probe_done(struct label_probe *probe)
{
	probe_parts_done(&probe->parts);
}

static int fail(char ret_why[ARGUMENTS_WHY_SIZE], const char *why)
{
	snprintf(ret_why, ARGUMENTS_WHY_SIZE, "%s", why);
	return -EINVAL;
}

/* No time has a larger number, whatever its unit. */
#define MAX_NUMBER 1e9

/* Parses "100us", "5ms" or "1.5s". */
static bool parse_time(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *suffix;
		double ns;
	} units[] = { { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	size_t digits = strspn(text, "0123456789.");
	char *end;
	double value;

	if (digits == 0)
		return false;
	value = strtod(text, &end);
	if (value > MAX_NUMBER)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (end != text + digits || strcmp(end, units[i].suffix) != 0)
			continue;
		*ret_ns = (uint64_t)(value * units[i].ns);
		return true;
	}
	return false;
}

/* It is behind the values, of which one may have that name. */
int label_probe_take_min(char *text, uint64_t *ret_ns, char ret_why[ARGUMENTS_WHY_SIZE])
{
	char *values = strrchr(text, ')'), *min = strstr(values ?: text, MIN);

	*ret_ns = 0;
	if (!min)
		return 0;
	if (!parse_time(min + strlen(MIN), ret_ns))
		return fail(ret_why, "min= takes a time: 100us, 5ms, 1s");
	while (min > text && min[-1] == ' ')
		min--;
	*min = '\0';
	return 0;
}

static int split_span(const char *text, struct label_probe *ret, char ret_why[ARGUMENTS_WHY_SIZE])
{
	_cleanup_free_ char *copy = strdup(text);
	int err = copy ? label_probe_take_min(copy, &ret->min_ns, ret_why) : -ENOMEM;

	return err < 0 ? err : probe_parts_split(copy, PROBE_CALL, &ret->parts, ret_why);
}

int label_probe_check_parts(const struct probe_parts *parts, bool is_span,
			    char ret_why[ARGUMENTS_WHY_SIZE])
{
	if (!is_span && parts->arguments.n == 0)
		return fail(ret_why, "there must be values: NAME(x=arg1)");
	for (size_t i = 0; is_span && i < parts->arguments.n; i++)
		if (strcmp(parts->arguments.of[i].form.name, SPANS_LABEL) == 0)
			return fail(ret_why, "the name " SPANS_LABEL " is taken: it is the call's");
	return parts->is_line ? fail(ret_why, "calls are of functions, not of a line") : 0;
}

static int split(const char *text, struct label_probe *ret, char ret_why[ARGUMENTS_WHY_SIZE])
{
	int err;

	*ret = (struct label_probe){ .is_span = strncmp(text, SPAN, strlen(SPAN)) == 0 };
	if (!ret->is_span && strncmp(text, LABEL, strlen(LABEL)) != 0)
		return fail(ret_why, "it must be " FORMS);
	text = strchr(text, ':') + 1;
	text += strspn(text, " ");
	err = ret->is_span ? split_span(text, ret, ret_why) :
			     probe_parts_split(text, PROBE_CALL, &ret->parts, ret_why);
	if (err == -EINVAL && ret_why[0] == '\0')
		return fail(ret_why, "it must be " FORMS);
	return err < 0 ? err : label_probe_check_parts(&ret->parts, ret->is_span, ret_why);
}

int label_probe_check(const char *text, char ret_why[ARGUMENTS_WHY_SIZE])
{
	_cleanup_(label_probe_done) struct label_probe probe;

	return split(text, &probe, ret_why);
}

bool label_probe_is_span(const char *text, uint64_t *ret_min_ns)
{
	_cleanup_(label_probe_done) struct label_probe probe = { 0 };
	char why[ARGUMENTS_WHY_SIZE];

	*ret_min_ns = 0;
	if (!text || split(text, &probe, why) < 0)
		return false;
	*ret_min_ns = probe.min_ns;
	return probe.is_span;
}

/* Before the calls' own places: a call whose begin is seen is to be seen to end. */
static int attach_ends(struct session *session, const struct probe_parts *parts,
		       const struct uprobe_places *places)
{
	_cleanup_(call_ends_done) struct call_ends ends;
	int err = call_ends_find(parts, places, &ends);

	return err < 0 ? err : session_end_calls(session, &ends.places);
}

static int attach(struct session *session, struct parsers *parsers, const struct label_probe *probe,
		  struct event_text *ret)
{
	_cleanup_uprobe_places_ struct uprobe_places places = UPROBE_PLACES_NONE;
	_cleanup_(probe_lists_done) struct probe_lists lists = { 0 };
	const struct uprobe_reader reader = probe_file_reader(parsers);
	int err = call_places_find(parsers, &reader, &probe->parts, probe->is_span, &places, &lists,
				   &ret->code);

	for (size_t i = 0; err == 0 && i < places.n; i++) {
		const uint32_t id = DP_SPAN_ID(1, i);

		ret->code.places.of[i].id = id;
		places.cookies[i] = DP_SPAN_COOKIE(places.cookies[i], id);
	}
	if (err == 0)
		err = session_set_arguments(session, lists.lists, lists.n);
	if (err == 0 && probe->is_span)
		err = attach_ends(session, &probe->parts, &places);
	if (err == 0)
		err = session_label_calls(session, &places, &ret->code.places);
	if (err < 0)
		return err;
	ret->lists = steal_ptr(lists.forms);
	ret->n_lists = lists.n;
	snprintf(ret->called, sizeof(ret->called), "%s", probe->parts.name);
	return 0;
}

static int attach_text(struct session *session, struct parsers *parsers, const char *text,
		       struct event_text *ret)
{
	_cleanup_(label_probe_done) struct label_probe probe;
	char why[ARGUMENTS_WHY_SIZE];
	int err = split(text, &probe, why);

	if (err < 0) {
		log_error("--probe %s: %s", text, why);
		return err;
	}
	return attach(session, parsers, &probe, ret);
}

/* Which samples count. */
static void set_spans(const struct profiler_options *o, const struct event_text *text,
		      const struct value_labels *labels, struct spans *ret)
{
	ret->name = text->called;
	ret->code = &text->code;
	ret->values = labels;
	/* Those of exceptions are redacted later, with the names of types (type_names.h). */
	ret->redaction = o->event.source->has_exceptions ? NULL : o->label_sources.redaction;
	(void)label_probe_is_span(o->label_probe, &ret->min_ns);
	ret->times.name = ret->name;
	ret->times.min_ns = ret->min_ns;
}

static void list_keys(struct event_text *event)
{
	const struct value_forms *list = event->lists;

	event->keys.n = 0;
	for (size_t i = 0; event->n_lists > 0 && i < list->n; i++)
		if (!list->of[i].is_length)
			event->keys.of[event->keys.n++] = list->of[i].name;
}

/* The events. CPUs' come last, so that samples do not pile up before the reader starts. */
static int attach_events(struct session *session, struct parsers *parsers,
			 const struct profiler_options *o, struct event_text *ret)
{
	int err = o->crashes ? session_sample_crashes(session) : 0;
	size_t length;

	if (err == 0)
		err = o->event.source->attach(session, parsers, o, ret);
	length = strlen(ret->how);
	if (err == 0 && o->crashes)
		snprintf(ret->how + length, sizeof(ret->how) - length,
			 ", and when a signal ends a process");
	return err;
}

int label_probe_attach(struct session *session, struct parsers *parsers,
		       const struct profiler_options *o, struct event_text *ret,
		       struct value_labels *ret_labels, struct spans *ret_spans)
{
	struct event_text probe = { 0 };
	uint64_t min_ns;
	int err = 0;

	if (o->label_probe)
		err = attach_text(session, parsers, o->label_probe, &probe);
	if (err == 0)
		err = attach_events(session, parsers, o, ret);
	if (o->label_probe) {
		ret->code = probe.code;
		ret->lists = probe.lists;
		ret->n_lists = probe.n_lists;
		list_keys(ret);
		memcpy(ret->called, probe.called, sizeof(ret->called));
	}
	value_labels_init(ret_labels, ret->lists, ret->n_lists, o->value);
	ret_labels->thrown = ret->thrown;
	ret_labels->code = o->label_probe ? &ret->code : NULL;
	ret_labels->are_of_spans = label_probe_is_span(o->label_probe, &min_ns);
	if (ret_labels->are_of_spans)
		set_spans(o, ret, ret_labels, ret_spans);
	return err;
}

void label_probe_count(const struct session *session, struct spans *spans, struct totals *totals)
{
	struct dp_span_times counted;

	if (!spans->name)
		return;
	if (session_span_times(session, &counted) < 0) {
		log_warning("the times of calls cannot be read");
		return;
	}
	spans->times.n_begun = counted.n_begun;
	spans->times.n_long += counted.n_long;
	spans->times.n_unbegun = counted.n_unknown;
	memcpy(spans->times.n_returned, counted.n_returned, sizeof(counted.n_returned));
	totals->calls = &spans->times;
}
