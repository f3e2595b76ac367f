// SPDX-License-Identifier: Apache-2.0
/* Calls of functions, their returns, and USDT probes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/loader.h"
#include "kernel/session.h"
#include "kernel/uprobe_places.h"
#include "log/log.h"
#include "probes/library_files.h"
#include "probes/probe_file.h"
#include "probes/probe_lists.h"
#include "probes/probe_parts.h"
#include "probes/probe_places.h"
#include "profiler/event.h"
#include "profiler/profiler_options.h"

static enum probe_kind kind_of(const struct event_source *source)
{
	if (source == &event_usdt)
		return PROBE_STATIC;
	return source == &event_uretprobe ? PROBE_RETURN : PROBE_CALL;
}

static int check(const struct event_source *source, const char *argument)
{
	_cleanup_(probe_parts_done) struct probe_parts parts;
	char why[EVENT_TEXT_SIZE];
	int err = probe_parts_split(argument, kind_of(source), &parts, why);

	if (err == 0 && strchr(parts.path, '/') && access(parts.path, R_OK) < 0)
		err = -errno;
	return err;
}

static void explain(const struct event_source *source, const char *argument,
		    char ret_why[EVENT_TEXT_SIZE])
{
	_cleanup_(probe_parts_done) struct probe_parts parts;

	(void)probe_parts_split(argument, kind_of(source), &parts, ret_why);
}

static bool has_values(const struct event_source *source, const char *argument)
{
	_cleanup_(probe_parts_done) struct probe_parts parts;
	char why[EVENT_TEXT_SIZE];

	return probe_parts_split(argument, kind_of(source), &parts, why) == 0 &&
	       parts.arguments.n > 0;
}

static bool has_times(const struct event_source *source, const char *argument)
{
	_cleanup_(probe_parts_done) struct probe_parts parts;
	char why[EVENT_TEXT_SIZE];

	return probe_parts_split(argument, kind_of(source), &parts, why) == 0 &&
	       arguments_have_time(&parts.arguments);
}

/* Tells the kernel what to read, and the reports how to write it. */
static int set_values(struct session *session, struct probe_lists *lists,
		      const struct profiler_options *o, struct event_text *ret)
{
	int err;

	for (size_t i = 0; i < o->n_numbers; i++)
		if (!probe_lists_have_number(lists, o->numbers[i].name, false)) {
			log_error("--value %s: -e reads no integer of that name",
				  o->numbers[i].name);
			return -EINVAL;
		}
	err = session_set_arguments(session, lists->lists, lists->n);
	if (err < 0)
		return err;
	ret->lists = steal_ptr(lists->forms);
	ret->n_lists = lists->n;
	return 0;
}

/* What is found of a probe: its places in each file, and the lists of all. */
struct found {
	struct uprobe_places *of; /* by file */
	size_t n;
	struct probe_lists lists;
};

static void found_done(struct found *f)
{
	while (f->n > 0)
		uprobe_places_done(&f->of[--f->n]);
	free(f->of);
	probe_lists_done(&f->lists);
}

static int find_in(struct parsers *parsers, const struct uprobe_reader *reader,
		   const struct probe_parts *parts, struct found *f)
{
	_cleanup_(probe_lists_done) struct probe_lists lists;
	struct uprobe_places *places = &f->of[f->n++];
	int err = probe_places_find(parsers, reader, parts, places, &lists);

	return err < 0 ? err : probe_lists_join(&f->lists, &lists, places);
}

static int find(const struct event_means *means, const struct target *target,
		const struct probe_parts *parts, struct found *f)
{
	const struct uprobe_reader by_path = probe_file_reader(means->parsers);
	_cleanup_(library_files_done) struct library_files files;
	int err = library_files_find(means->processes, target, parts->path, &files);

	if (err < 0)
		return err;
	f->of = calloc(files.n + 1, sizeof(*f->of));
	if (!f->of)
		return -ENOMEM;
	if (files.n == 0)
		err = find_in(means->parsers, &by_path, parts, f);
	if (err == 0 && files.n == 0)
		library_files_say_others(means->processes, &f->of[0]);
	for (size_t i = 0; err == 0 && i < files.n; i++) {
		const struct library_reader of_file = { &by_path, means->parsers, &files.of[i] };
		const struct uprobe_reader reader = library_reader_of(&of_file);
		struct probe_parts there = *parts;

		there.path = files.of[i].path;
		err = find_in(means->parsers, &reader, &there, f);
	}
	return err;
}

static int start(struct session *session, const struct probe_parts *parts, struct found *f,
		 const struct profiler_options *o, struct event_text *ret)
{
	int err = f->lists.n > 0 ? set_values(session, &f->lists, o, ret) : 0;

	for (size_t i = 0; err == 0 && i < f->n; i++) {
		if (arguments_have_time(&parts->arguments))
			err = session_time_calls(session, &f->of[i]);
		if (err == 0)
			err = session_sample_uprobe(session, &f->of[i]);
	}
	return err;
}

static void describe(const struct probe_parts *parts, const char *name, const struct found *f,
		     struct event_text *ret)
{
	static const char *const hits[] = { "call of", "return of", "hit of" };
	const char *noun = parts->kind == PROBE_STATIC ? "places" : "functions";
	char many[32] = "", files[32] = "";
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		n += f->of[i].n;
	if (n > f->n)
		snprintf(many, sizeof(many), "%zu %s ", n, noun);
	if (f->n > 1)
		snprintf(files, sizeof(files), "%zu files of ", f->n);
	snprintf(ret->name, sizeof(ret->name), "%s:%s:%s", name, parts->path, parts->name);
	snprintf(ret->how, sizeof(ret->how), "at each %s %s%s in %s%.512s", hits[parts->kind], many,
		 parts->name, files,
		 library_name(parts->path) && f->n == 1 ? f->of[0].path : parts->path);
}

static int attach(const struct event_means *means, const struct profiler_options *o,
		  struct event_text *ret)
{
	_cleanup_(found_done) struct found found = { 0 };
	_cleanup_(probe_parts_done) struct probe_parts parts;
	char why[EVENT_TEXT_SIZE];
	int err = probe_parts_split(o->event.argument, kind_of(o->event.source), &parts, why);

	if (err == 0)
		err = find(means, &o->target, &parts, &found);
	if (err == 0)
		err = start(means->session, &parts, &found, o, ret);
	if (err == 0)
		describe(&parts, o->event.source->name, &found, ret);
	return err;
}

#define COMMON                                                                                     \
	.has_commas = true, .programs = EVENT_BIT(DP_EVENT_UPROBE), .levels = DP_UPROBE_LEVELS,    \
	.user_only = true, .missing = "did not hit it", .check = check, .explain = explain,        \
	.has_values = has_values, .has_times = has_times, .attach = attach

const struct event_source event_uprobe = {
	.name = "uprobe",
	.argument = ":PATH:NAME[(VALUES)]",
	.pattern = "functions of a file",
	.when = "each call of the functions with that name or glob",
	COMMON,
};

const struct event_source event_uretprobe = {
	.name = "uretprobe",
	.argument = ":PATH:NAME[(VALUES)]",
	.pattern = "functions of a file",
	.when = "each of their returns",
	COMMON,
};

const struct event_source event_usdt = {
	.name = "usdt",
	.argument = ":PATH:PROVIDER:NAME[(VALUES)]",
	.pattern = "probes of a file",
	.when = "each hit of a program's static probes",
	COMMON,
};
