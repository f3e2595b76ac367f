// SPDX-License-Identifier: Apache-2.0
#include "profiler/label_probes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kernel/session.h"
#include "kernel/uprobe_places.h"
#include "log/log.h"
#include "probes/call_places.h"
#include "probes/label_probe.h"
#include "probes/library_files.h"
#include "probes/probe_file.h"
#include "probes/probe_lists.h"
#include "profiler/event.h"
#include "profiler/profiler_options.h"
#include "samples/spans.h"

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
	int err = label_probe_split(text, &f->probe, why);

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
	if (all->places.n + f->places.n <= DP_MAX_SPAN_PLACES)
		return 0;
	log_error(
		"--probe: all probes together can label samples by calls of at most %d functions; with %s "
		"they would be %zu",
		DP_MAX_SPAN_PLACES, f->probe.parts.name, all->places.n + f->places.n);
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
		const uint32_t id = DP_SPAN_ID(1, all->n - 1, all->places.n);

		code->places.of[i].id = id;
		all->places.of[all->places.n++] = code->places.of[i];
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
