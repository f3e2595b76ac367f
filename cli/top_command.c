// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/quantity.h"
#include "cli/sampling.h"
#include "cli/top_console.h"
#include "cli/top_keys.h"
#include "log/log.h"
#include "report/report.h"
#include "text/text.h"

struct top_options {
	struct options options;
	uint64_t interval_ns;
	unsigned long n; /* number of intervals; 0: until interrupted or all targets end */
};

enum {
	OPTION_BY = 2048,
};

static const struct argp_option argp_options[] = {
	{ .doc = "What to look at (-p, -t, -a, or a command after --; without one, all processes)",
	  .group = 1 },
	{ "interval", 'i', "TIME", 0, "time between tables: 1, 500ms, 1m (1s)", 2 },
	{ "iterations", 'n', "N", 0, "stop after N tables", 2 },
	{ .doc = "How to walk stacks", .group = 3 },
	{ .doc = "What to show", .group = 4 },
	{ "by", OPTION_BY, "KEY", 0, OUTPUT_OPTIONS_BY_HELP, 4 },
	{ 0 },
};

/* Shorter intervals than the minimum would be unreadable. */
#define MIN_INTERVAL_NS UINT64_C(100000000)

static void parse_interval(struct top_options *top, struct argp_state *state, const char *text)
{
	if (quantity_parse_duration(text, &top->interval_ns) < 0 ||
	    top->interval_ns < MIN_INTERVAL_NS)
		argp_error(state, "-i takes a time such as 1, 500ms or 1m, from 100ms, not '%s'",
			   text);
}

static void parse_iterations(struct top_options *top, struct argp_state *state, const char *text)
{
	char *end;

	errno = 0;
	top->n = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno || top->n == 0 ||
	    top->n > 1000000000)
		argp_error(state, "-n takes a whole number from 1 to 1000000000, not '%s'", text);
}

static void complete(struct top_options *top, struct argp_state *state)
{
	struct record_options *r = &top->options.record;
	struct target *target = &r->profiler.target;

	target->all |= target->n_pids + target->n_tids == 0 && !target->command;
	options_complete(&top->options, state);
	if (r->profiler.n_others > 0)
		argp_error(state, "top shows one event: give one -e");
	if (r->profiler.event.source == &event_alloc)
		argp_error(state,
			   "top does not support --alloc: memory in use is known only at the end");
	r->interval_ns = top->interval_ns;
	if (__builtin_mul_overflow(top->n, top->interval_ns, &r->duration_ns))
		argp_error(state, "-n times -i is too long");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct top_options *top = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &top->options;
		state->child_inputs[1] = &top->options;
		state->child_inputs[2] = &top->options;
		return 0;
	case 'i':
		parse_interval(top, state, arg);
		return 0;
	case 'n':
		parse_iterations(top, state, arg);
		return 0;
	case OPTION_BY:
		output_options_set_by(&top->options.output, state, arg);
		return 0;
	case ARGP_KEY_ARG:
		options_parse_command(&top->options, state, arg, "top");
		return 0;
	case ARGP_KEY_END:
		complete(top, state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child parts[] = {
	{ .argp = &options_shared },
	{ .argp = &options_targets },
	{ .argp = &options_sampling },
	{ 0 },
};

/* argp's own width. */
#define HELP_COLUMNS 79

/* Puts the keys before what follows the options. */
static char *add_keys(int key, const char *text, void *input)
{
	char *with_keys = NULL;
	size_t size;
	FILE *to;

	if (key != ARGP_KEY_HELP_POST_DOC || !(to = open_memstream(&with_keys, &size)))
		return (char *)text;
	fputs("Keys:\n", to);
	(void)top_keys_list(HELP_COLUMNS, to);
	fprintf(to, "\n%s", text);
	return fclose(to) == 0 ? with_keys : (char *)text;
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse_option,
	.children = parts,
	.args_doc = "\n-p PID[,PID...]\n-- CMD [ARG...]",
	.doc = "Show the functions that take most of the time, updated continuously. On a "
	       "terminal, keys sort, filter and expand them. With -n, or with a command, which keeps "
	       "the keyboard, each table replaces the previous one. Files and pipes get all "
	       "tables.\v"
	       "Exit codes: 0 done; 1 failed; 2 wrong usage; 3 not permitted; 4 no such process; 5 "
	       "no samples. The exit code of a profiled command takes precedence.",
	.help_filter = add_keys,
};

static int begin(void *arg, int end_fd)
{
	return top_console_start(arg, end_fd);
}

static int top_command(int argc, char **argv)
{
	struct output_request output = { .format = &report_top };
	struct top_options top = { .interval_ns = 1000000000 };
	struct options *o = &top.options;
	struct top_console console;
	int code;

	options_init(o, argv - 1);
	command_parse(&command_top, argc, argv, &top);
	output.by = o->output.by;
	o->record.outputs = &output;
	o->record.n_outputs = 1;
	/* On a terminal, a table says it all, and messages may be written over it. */
	if (isatty(STDOUT_FILENO) && !log_enabled(LOG_DEBUG))
		log_set_level(LOG_WARNING);
	/*
	 * A profiled command reads the keyboard itself, and writes to the screen. And who wants N
	 * tables wants to have them afterwards.
	 */
	if (!o->record.profiler.target.command && top.n == 0 && top_console_is_possible() &&
	    top_console_open(&console) == 0) {
		output.viewer = &console.viewer;
		code = sampling_run(o, begin, &console);
		if (top_console_close(&console) < 0 && code == EXIT_CODE_OK)
			code = EXIT_CODE_FAILED;
	} else {
		code = sampling_run(o, NULL, NULL);
	}
	options_done(o);
	return code;
}

const struct command command_top = {
	.name = "top",
	.summary = "show the functions that take most time, refreshed every second",
	.argp = &argp,
	.flags = ARGP_IN_ORDER,
	.run = top_command,
};
