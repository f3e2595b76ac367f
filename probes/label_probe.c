// SPDX-License-Identifier: Apache-2.0
#include "probes/label_probe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "kernel/session.h"
#include "kernel/span_counts.h"
#include "log/log.h"
#include "samples/spans.h"

#define LABEL PROBE_LABEL ":"
#define SPAN PROBE_SPAN ":"
#define USDT "usdt:"
#define MIN " min="
#define FORMS LABEL "PATH:NAME(VALUES) or " SPAN "PATH:NAME(VALUES) min=TIME"

void label_probe_done(struct label_probe *probe)
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
		return fail(ret_why, "values are missing: NAME(x=arg1)");
	for (size_t i = 0; is_span && i < parts->arguments.n; i++)
		if (strcmp(parts->arguments.of[i].form.name, SPANS_LABEL) == 0)
			return fail(ret_why, "the name " SPANS_LABEL " is reserved for the call");
	if (parts->has_offset)
		return fail(ret_why, "calls are of functions, not of FUNCTION+N");
	return parts->is_line ? fail(ret_why, "calls are of functions, not of a line") : 0;
}

int label_probe_split(const char *text, struct label_probe *ret, char ret_why[ARGUMENTS_WHY_SIZE])
{
	int err;

	*ret = (struct label_probe){ .is_span = strncmp(text, SPAN, strlen(SPAN)) == 0 };
	if (!ret->is_span && strncmp(text, LABEL, strlen(LABEL)) != 0)
		return fail(ret_why, "it must be " FORMS);
	text = strchr(text, ':') + 1;
	text += strspn(text, " ");
	if (strncmp(text, USDT, strlen(USDT)) == 0)
		return fail(
			ret_why,
			"calls are of functions: a USDT probe has no frame that "
			"would tell when it is over; name its function (of a program usdt: ./usdt)");
	err = ret->is_span ? split_span(text, ret, ret_why) :
			     probe_parts_split(text, PROBE_CALL, &ret->parts, ret_why);
	if (err == -EINVAL && ret_why[0] == '\0')
		return fail(ret_why, "it must be " FORMS);
	return err < 0 ? err : label_probe_check_parts(&ret->parts, ret->is_span, ret_why);
}

int label_probe_check(const char *text, char ret_why[ARGUMENTS_WHY_SIZE])
{
	_cleanup_(label_probe_done) struct label_probe probe;

	return label_probe_split(text, &probe, ret_why);
}

static bool has_value(const struct arguments *arguments, const char *name)
{
	for (size_t i = 0; i < arguments->n; i++)
		if (!arguments->of[i].form.is_length &&
		    strcmp(arguments->of[i].form.name, name) == 0)
			return true;
	return false;
}

int label_probe_check_both(const char *a, const char *b, char ret_why[ARGUMENTS_WHY_SIZE])
{
	_cleanup_(label_probe_done) struct label_probe first = { 0 }, second = { 0 };
	int err = label_probe_split(a, &first, ret_why);

	if (err == 0)
		err = label_probe_split(b, &second, ret_why);
	if (err < 0)
		return err;
	if (first.is_span || second.is_span)
		return fail(ret_why, "`span:' goes with no other --probe");
	for (size_t i = 0; i < first.parts.arguments.n; i++) {
		const struct value_form *form = &first.parts.arguments.of[i].form;

		if (form->is_length || !has_value(&second.parts.arguments, form->name))
			continue;
		snprintf(ret_why, ARGUMENTS_WHY_SIZE,
			 "another --probe has a value %s: give one another name, NAME=VALUE",
			 form->name);
		return -EINVAL;
	}
	return 0;
}

bool label_probe_is_span(const char *text, uint64_t *ret_min_ns)
{
	_cleanup_(label_probe_done) struct label_probe probe = { 0 };
	char why[ARGUMENTS_WHY_SIZE];

	*ret_min_ns = 0;
	if (!text || label_probe_split(text, &probe, why) < 0)
		return false;
	*ret_min_ns = probe.min_ns;
	return probe.is_span;
}

void label_probe_say_forgotten(const struct session *session)
{
	struct span_counts n;

	if (span_counts_forgotten(session, &n) < 0 || n.n_threads + n.n_processes == 0)
		return;
	log_info(
		"calls of %" PRIu64 " threads and %" PRIu64
		" processes were forgotten for lack of room: their labels are missing or <unknown>",
		n.n_threads, n.n_processes);
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
