// SPDX-License-Identifier: Apache-2.0
#include "cli/output_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "formats/report_format.h"
#include "profiler/record.h"
#include "text/text.h"

void output_options_done(struct output_options *o)
{
	free(o->requests);
	*o = (struct output_options){ 0 };
}

void output_options_add(struct output_options *o, struct argp_state *state, const char *path)
{
	if (array_reserve(o->requests, o->n, o->size) < 0)
		argp_failure(state, EXIT_CODE_FAILED, ENOMEM, "cannot read the options");
	o->requests[o->n++] = (struct output_request){ .path = path };
}

void output_options_set_by(struct output_options *o, struct argp_state *state, const char *text)
{
	if (group_parse(text, &o->by_group) < 0) {
		fprintf(stderr, "%s: --by takes one of ", state->name);
		group_list(stderr);
		fprintf(stderr, ", not '%s'\n", text);
		exit(EXIT_CODE_USAGE);
	}
	o->by = &o->by_group;
}

static bool is_stdout(const char *path)
{
	return !path || strcmp(path, "-") == 0;
}

void output_options_fail_format(const struct argp_state *state, const char *name, bool is_path,
				void (*list)(FILE *to))
{
	fprintf(stderr,
		is_path ? "%s: the extension of '%s' stands for no format: name one with --format" :
			  "%s: there is no format '%s'",
		state->name, name);
	fputs("; known are ", stderr);
	list(stderr);
	fputc('\n', stderr);
	exit(EXIT_CODE_USAGE);
}

/* A build may lack a library that the format needs. */
static const struct report_format *require(const struct report_format *format,
					   const struct argp_state *state)
{
	const char *missing = format->missing ? format->missing() : NULL;

	if (missing) {
		fprintf(stderr, "%s: %s\n", state->name, missing);
		exit(EXIT_CODE_USAGE);
	}
	return format;
}

static const struct report_format *choose_listed(const struct output_options *o,
						 const struct argp_state *state, const char *path)
{
	const struct report_format *format;
	const char *name = o->format;

	if (!name && !is_stdout(path)) {
		format = report_format_by_path(path);
		if (!format)
			output_options_fail_format(state, path, true, report_format_list);
		return require(format, state);
	}
	if (!name)
		name = is_stdout(path) && (o->own || isatty(STDOUT_FILENO)) ? "text" : "folded";
	format = report_format_by_name(name);
	if (!format)
		output_options_fail_format(state, name, false, report_format_list);
	return require(format, state);
}

static const struct report_format *choose_format(const struct output_options *o,
						 const struct argp_state *state, const char *path)
{
	const struct report_format *format = choose_listed(o, state, path);

	if (format->is_binary && is_stdout(path) && isatty(STDOUT_FILENO))
		argp_error(state, "%s is not for terminals: give a file to -o", format->name);
	return o->own && strcmp(format->name, "text") == 0 ? o->own : format;
}

/* What can be left out if nobody has asked for it. */
static bool needs_default(const struct output_options *o)
{
	return o->n == 0 && (!o->only_crashes || o->format);
}

static void add_crashes(struct output_options *o, struct argp_state *state)
{
	output_options_add(o, state, o->crashes);
	o->requests[o->n - 1].format = &report_crashes;
}

static void complete_request(struct output_options *o, struct argp_state *state,
			     struct output_request *request)
{
	if (request->format)
		return;
	request->format = choose_format(o, state, request->path);
	request->by = o->by;
	request->wide = o->wide;
}

void output_options_complete(struct output_options *o, struct argp_state *state)
{
	size_t n_stdout = 0;

	if (o->format && o->n > 1)
		argp_error(state,
			   "--format goes with one -o; with several, extensions select formats");
	if (needs_default(o))
		output_options_add(o, state, NULL);
	if (o->crashes)
		add_crashes(o, state);
	for (size_t i = 0; i < o->n; i++) {
		n_stdout += is_stdout(o->requests[i].path);
		for (size_t j = 0; j < i; j++)
			if (!is_stdout(o->requests[i].path) && !is_stdout(o->requests[j].path) &&
			    strcmp(o->requests[i].path, o->requests[j].path) == 0)
				argp_error(state, "two reports cannot go to '%s'",
					   o->requests[i].path);
		complete_request(o, state, &o->requests[i]);
	}
	if (n_stdout > 1)
		argp_error(state, "two reports cannot go to stdout");
}
