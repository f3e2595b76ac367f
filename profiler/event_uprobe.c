// SPDX-License-Identifier: Apache-2.0
/* Calls of functions, their returns, and USDT probes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/session.h"
#include "kernel/uprobe_places.h"
#include "log/log.h"
#include "profiler/event.h"
#include "profiler/probe_file.h"
#include "profiler/probe_lists.h"
#include "profiler/probe_parts.h"
#include "profiler/probe_places.h"
#include "profiler/profiler.h"

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
static int set_values(struct session *session, struct probe_lists *lists, const char *value,
		      struct event_text *ret)
{
	int err;

	if (value && !probe_lists_have_number(lists, value)) {
		log_error("--value %s: -e reads no integer of that name", value);
		return -EINVAL;
	}
	err = session_set_arguments(session, lists->lists, lists->n);
	if (err < 0)
		return err;
	ret->lists = steal_ptr(lists->forms);
	ret->n_lists = lists->n;
	return 0;
}

static int start(struct session *session, struct parsers *parsers, const struct probe_parts *parts,
		 struct uprobe_places *places, const char *value, struct event_text *ret)
{
	_cleanup_(probe_lists_done) struct probe_lists lists = { 0 };
	const struct uprobe_reader reader = probe_file_reader(parsers);
	int err = probe_places_find(parsers, &reader, parts, places, &lists);

	if (err == 0 && lists.n > 0)
		err = set_values(session, &lists, value, ret);
	if (err == 0 && arguments_have_time(&parts->arguments))
		err = session_time_calls(session, places);
	return err < 0 ? err : session_sample_uprobe(session, places);
}

static void describe(const struct probe_parts *parts, const char *name, size_t n,
		     struct event_text *ret)
{
	static const char *const hits[] = { "call of", "return of", "hit of" };
	const char *noun = parts->kind == PROBE_STATIC ? "places" : "functions";
	char many[32] = "";

	if (n > 1)
		snprintf(many, sizeof(many), "%zu %s ", n, noun);
	snprintf(ret->name, sizeof(ret->name), "%s:%s:%s", name, parts->path, parts->name);
	snprintf(ret->how, sizeof(ret->how), "at each %s %s%s in %s", hits[parts->kind], many,
		 parts->name, parts->path);
}

static int attach(struct session *session, struct parsers *parsers,
		  const struct profiler_options *o, struct event_text *ret)
{
	_cleanup_uprobe_places_ struct uprobe_places places = UPROBE_PLACES_NONE;
	_cleanup_(probe_parts_done) struct probe_parts parts;
	char why[EVENT_TEXT_SIZE];
	int err = probe_parts_split(o->event.argument, kind_of(o->event.source), &parts, why);

	if (err == 0)
		err = start(session, parsers, &parts, &places, o->value, ret);
	if (err == 0)
		describe(&parts, o->event.source->name, places.n, ret);
	return err;
}

#define COMMON                                                                                     \
	.has_commas = true, .programs = EVENT_BIT(DP_EVENT_UPROBE), .levels = DP_UPROBE_LEVELS,    \
	.user_only = true, .missing = "did not run, or not long enough", .check = check,           \
	.explain = explain, .has_values = has_values, .has_times = has_times, .attach = attach

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
