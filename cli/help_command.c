// SPDX-License-Identifier: Apache-2.0
/* `dwarfprof help' and `dwarfprof version'. */
#include "cli/command.h"
#include "log/suggestion.h"
#include "profiler/record.h"

static error_t parse_help(int key, char *arg, struct argp_state *state)
{
	const struct command **about = state->input;
	struct suggestion suggestion = { .given = arg };

	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (*about)
		argp_error(state, "unexpected argument '%s': it explains one command", arg);
	*about = command_find(arg);
	if (*about)
		return 0;
	command_suggest(&suggestion);
	if (suggestion.word)
		argp_error(state, "there is no command '%s'; did you mean '%s'?", arg,
			   suggestion.word);
	argp_error(state, "there is no command '%s'; `dwarfprof help' lists all", arg);
	return 0;
}

static const struct argp help_argp = {
	.parser = parse_help,
	.args_doc = "[COMMAND]",
	.doc = "Show all commands, or the options of one.",
};

static int help_command(int argc, char **argv)
{
	static char program[] = "dwarfprof", option[] = "--help";
	char *words[] = { program, program, option, NULL };
	const struct command *about = NULL;

	command_parse(&command_help, argc, argv, &about);
	if (about)
		return about->run(2, words + 1);
	command_list(stdout);
	return EXIT_CODE_OK;
}

const struct command command_help = {
	.name = "help",
	.summary = "show all commands, or the options of one",
	.argp = &help_argp,
	.run = help_command,
};

static error_t parse_version(int key, char *arg, struct argp_state *state)
{
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	argp_error(state, "unexpected argument '%s': this command takes none", arg);
	return 0;
}

static const struct argp version_argp = {
	.parser = parse_version,
	.doc = "Show the version of dwarfprof.",
};

static int version_command(int argc, char **argv)
{
	command_parse(&command_version, argc, argv, NULL);
	puts(argp_program_version);
	return EXIT_CODE_OK;
}

const struct command command_version = {
	.name = "version",
	.summary = "show the version",
	.argp = &version_argp,
	.run = version_command,
};
