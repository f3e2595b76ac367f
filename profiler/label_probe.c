// SPDX-License-Identifier: Apache-2.0
#include "profiler/label_probe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "kernel/session.h"
#include "kernel/span_counts.h"
#include "kernel/uprobe_places.h"
#include "log/log.h"
#include "profiler/call_places.h"
#include "profiler/event.h"
#include "profiler/library_files.h"
#include "profiler/probe_file.h"
#include "profiler/probe_lists.h"
#include "profiler/probe_parts.h"
#include "profiler/profiler_options.h"
#include "samples/spans.h"

#define LABEL PROBE_LABEL ":"
#define SPAN PROBE_SPAN ":"
#define USDT "usdt:"
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
		return fail(ret_why, "values are missing: NAME(x=arg1)");
	for (size_t i = 0; is_span && i < parts->arguments.n; i++)
		if (strcmp(parts->arguments.of[i].form.name, SPANS_LABEL) == 0)
			return fail(ret_why, "the name " SPANS_LABEL " is reserved for the call");
	if (parts->has_offset)
		return fail(ret_why, "calls are of functions, not of FUNCTION+N");
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

	return split(text, &probe, ret_why);
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
	int err = split(a, &first, ret_why);

	if (err == 0)
		err = split(b, &second, ret_why);
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

/* A probe, and what is found of it. */
struct found {
	struct label_probe probe;
	struct uprobe_places places;
	struct probe_lists lists;
};

/* All of them, and their lists and functions in the kernel. */
struct all {
	struct found of[DP_MAX_LABEL_PROBES];
	size_t n;
	struct dp_arguments *lists;
	size_t n_lists;
	struct dp_span_places places;
	size_t n_places;
};

static void all_done(struct all *all)
{
	while (all->n > 0) {
		struct found *f = &all->of[--all->n];

		label_probe_done(&f->probe);
		uprobe_places_done(&f->places);
		probe_lists_done(&f->lists);
	}
	free(all->lists);
}

/* In the file that has the path, or in the one of that library that processes map. */
static int find_calls(const struct event_means *means, const struct library_files *files,
		      struct found *f, struct probed_code *ret_code)
{
	const struct uprobe_reader by_path = probe_file_reader(means->parsers);
	const struct library_reader of_file = { &by_path, means->parsers, &files->of[0] };
	struct uprobe_reader reader = files->n > 0 ? library_reader_of(&of_file) : by_path;
	struct probe_parts parts = f->probe.parts;
	int err;

	if (files->n > 0)
		parts.path = files->of[0].path;
	err = call_places_find(means->parsers, &reader, &parts, f->probe.is_span, &f->places,
			       &f->lists, ret_code);
	if (err == 0 && files->n == 0)
		library_files_say_others(means->processes, &f->places);
	return err;
}

static int find(const struct event_means *means, const struct profiler_options *o, const char *text,
		struct all *all, struct probed_code *ret_code)
{
	_cleanup_(library_files_done) struct library_files files = { .n = 0 };
	struct found *f = &all->of[all->n++];
	char why[ARGUMENTS_WHY_SIZE];
	int err = split(text, &f->probe, why);

	f->places = UPROBE_PLACES_NONE;
	if (err < 0) {
		log_error("--probe %s: %s", text, why);
		return err;
	}
	err = library_files_find(means->processes, &o->target, f->probe.parts.path, &files);
	if (err == 0 && files.n > 1) {
		log_error("--probe %s: processes map %zu different files of it: give one's path",
			  text, files.n);
		err = -E2BIG;
	}
	return err < 0 ? err : find_calls(means, &files, f, ret_code);
}

/* The last one that is found, beside the others. */
static int check_functions(const struct all *all, const struct event_text *text)
{
	const struct found *f = &all->of[all->n - 1];

	for (size_t i = 0; i + 1 < all->n; i++)
		if (probed_code_is_shared(&text->code[i], &text->code[all->n - 1])) {
			log_error("two --probe have a function of %s in common: give one the "
				  "values of both",
				  f->probe.parts.path);
			return -EINVAL;
		}
	if (all->n_places + f->places.n <= DP_MAX_SPAN_PLACES)
		return 0;
	log_error(
		"--probe: all probes together can label samples by calls of at most %d functions; with %s "
		"they would be %zu",
		DP_MAX_SPAN_PLACES, f->probe.parts.name, all->n_places + f->places.n);
	return -E2BIG;
}

/* The forms move to the event's, the places' cookies become those of the kernel. */
static int take(struct all *all, struct probed_code *code, struct event_text *ret)
{
	struct found *f = &all->of[all->n - 1];
	const size_t n = ret->n_lists + f->lists.n;
	struct value_forms *forms = n > 0 ? reallocarray(ret->lists, n, sizeof(*forms)) : NULL;
	struct dp_arguments *lists = n > 0 ? reallocarray(all->lists, n, sizeof(*lists)) : NULL;

	ret->lists = forms ?: ret->lists;
	all->lists = lists ?: all->lists;
	if (n > 0 && (!forms || !lists))
		return -ENOMEM;
	code->list = ret->n_lists;
	if (f->lists.n > 0) {
		memcpy(forms + ret->n_lists, f->lists.forms, f->lists.n * sizeof(*forms));
		memcpy(lists + ret->n_lists, f->lists.lists, f->lists.n * sizeof(*lists));
	}
	ret->n_lists = all->n_lists = n;
	f->lists.n = 0;
	for (size_t i = 0; i < f->places.n; i++) {
		const uint32_t id = DP_SPAN_ID(1, all->n - 1, all->n_places);

		code->places.of[i].id = id;
		all->places.of[all->n_places++] = code->places.of[i];
		f->places.cookies[i] = DP_SPAN_COOKIE(f->places.cookies[i] + code->list, id);
	}
	return 0;
}

static int find_all(const struct event_means *means, const struct profiler_options *o,
		    struct all *all, struct event_text *ret)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < o->n_label_probes; i++) {
		struct probed_code *code = &ret->code[ret->n_code++];

		err = find(means, o, o->label_probes[i], all, code);
		if (err == 0)
			err = check_functions(all, ret);
		if (err == 0)
			err = take(all, code, ret);
	}
	return err;
}

int label_probes_attach(const struct event_means *means, const struct profiler_options *o,
			struct event_text *ret)
{
	_cleanup_(all_done) struct all all = { 0 };
	int err = 0;

	if (o->n_label_probes == 0)
		return 0;
	err = find_all(means, o, &all, ret);
	if (err == 0)
		err = session_set_arguments(means->session, all.lists, all.n_lists);
	for (size_t i = 0; err == 0 && i < all.n; i++) {
		if (all.of[i].probe.is_span)
			err = attach_ends(means->session, &all.of[i].probe.parts,
					  &all.of[i].places);
		if (err == 0)
			err = session_label_calls(means->session, &all.of[i].places, &all.places);
	}
	if (err == 0)
		snprintf(ret->called, sizeof(ret->called), "%s", all.of[0].probe.parts.name);
	return err;
}

/* Which samples count. */
static void set_spans(const struct profiler_options *o, const struct event_text *text,
		      const struct value_labels *labels, struct spans *ret)
{
	ret->name = text->called;
	ret->code = &text->code[0];
	ret->values = labels;
	/* Those of exceptions are redacted later, with the names of types (type_names.h). */
	ret->redaction = o->event.source->has_exceptions ? NULL : o->label_sources.redaction;
	(void)label_probe_is_span(o->label_probes[0], &ret->min_ns);
	ret->times.name = ret->name;
	ret->times.min_ns = ret->min_ns;
}

void label_probes_describe(const struct profiler_options *o, const struct event_text *probes,
			   struct event_text *ret, struct value_labels *ret_labels,
			   struct spans *ret_spans)
{
	uint64_t min_ns;

	if (o->n_label_probes > 0) {
		memcpy(ret->code, probes->code, sizeof(ret->code));
		ret->n_code = probes->n_code;
		ret->lists = probes->lists;
		ret->n_lists = probes->n_lists;
		memcpy(ret->called, probes->called, sizeof(ret->called));
	}
	value_labels_init(ret_labels, ret->lists, ret->n_lists);
	ret_labels->numbers = o->numbers;
	/* Further ones of an event are labels, too. */
	ret_labels->n_numbers = profiler_n_events(o) > 1 || o->n_numbers == 0 ? o->n_numbers : 1;
	ret_labels->thrown = ret->thrown;
	ret_labels->code = ret->n_code > 0 ? ret->code : NULL;
	ret_labels->n_code = ret->n_code;
	ret_labels->are_of_spans = label_probe_is_span(o->label_probes[0], &min_ns);
	if (ret_labels->are_of_spans)
		set_spans(o, ret, ret_labels, ret_spans);
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
