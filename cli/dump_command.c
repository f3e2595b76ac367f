// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"
#include "cli/options.h"
#include "elf/bus_guard.h"
#include "log/log.h"
#include "profiler/dump.h"
#include "report/report.h"
#include "sandbox/helper.h"
#include "text/text.h"

enum {
	OPTION_TASKS = 2048,
};

/* The others are shared with other commands. */
static const struct argp_option argp_options[] = {
	{ .doc = "Whose stacks (one of)", .group = 1 },
	{ "tasks", OPTION_TASKS, NULL, 0,
	  "also those of tasks of Python's asyncio that wait, and of what awaits these", 1 },
	{ .doc = "How to walk them", .group = 3 },
	{ .doc = "What to write", .group = 4 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = o;
		state->child_inputs[1] = o;
		return 0;
	case OPTION_TASKS:
		o->record.tasks = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s': this command takes none", arg);
		return 0;
	case ARGP_KEY_END:
		o->record.profiler.target.pids = o->pids;
		o->record.profiler.target.tids = o->tids;
		o->record.profiler.symbols = !o->names.options.none;
		if (o->record.profiler.target.n_pids + o->record.profiler.target.n_tids == 0)
			argp_error(state, "nothing to dump: give -p PID or -t TID");
		if (o->record.profiler.target.n_pids > 0 && o->record.profiler.target.n_tids > 0)
			argp_error(state, "-p and -t exclude each other");
		options_complete_output(o, state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child parts[] = {
	{ .argp = &options_shared },
	{ .argp = &options_files },
	{ 0 },
};

static const struct argp argp = {
	.options = argp_options,
	.parser = parse_option,
	.children = parts,
	.args_doc = "-p PID[,PID...]\n-t TID[,TID...]",
	.doc = "Show the stacks of all threads of a process, once, without stopping it, with files, "
	       "lines and inlined functions.\v"
	       "Exit codes: 0 done; 1 failed; 2 wrong usage; 3 not permitted; 4 no such process; 5 "
	       "no stack could be taken.",
};

static int dump_command(int argc, char **argv)
{
	struct options options;
	int code;

	options_init(&options, argv - 1);
	options.output.own = &report_stacks;
	command_parse(&command_dump, argc, argv, &options);
	options.record.profiler.names = name_options_apply(&options.names);
	options.record.profiler.helper = HELPER_SELF;
	code = options.record.profiler.names && bus_guard_install() == 0 ?
		       dump_run(&options.record) :
		       EXIT_CODE_FAILED;
	names_free(options.record.profiler.names);
	options_done(&options);
	return code;
}

const struct command command_dump = {
	.name = "dump",
	.summary = "show the stacks of all threads of a process now",
	.argp = &argp,
	.run = dump_command,
};
