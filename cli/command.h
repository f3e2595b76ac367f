/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_COMMAND_H
#define DP_CLI_COMMAND_H

#include <argp.h>
#include <stddef.h>
#include <stdio.h>

struct suggestion;

/*
 * A command of the program: `dwarfprof top`. Help, the manual page's synopsis, README's list and
 * the completion files are made from the commands and from the options in their argps.
 */
struct command {
	const char *name;
	const char *summary;     /* what it does, in a line of a list */
	const struct argp *argp; /* its options, and in args_doc a line for each way to use it */
	unsigned int flags;      /* of argp_parse() */
	/* argv[0] is the command's name. Returns the exit code. */
	int (*run)(int argc, char **argv);
};

extern const struct command *const commands[];
extern const size_t n_commands;

/* The default command. Its run() gets the whole command line. */
extern const struct command command_record;
extern const struct command command_top;
extern const struct command command_dump;
extern const struct command command_agent;
extern const struct command command_report;
extern const struct command command_convert;
extern const struct command command_diff;
extern const struct command command_annotate;
extern const struct command command_tables;
extern const struct command command_probes;
extern const struct command command_probe;
extern const struct command command_doctor;
extern const struct command command_help;
extern const struct command command_version;

/* Options that all commands have: help and version. command_parse() adds them. */
extern const struct argp command_standard;

/* Considers the names of all commands. */
void command_suggest(struct suggestion *suggestion);

/* NULL if there is none. */
const struct command *command_find(const char *name);

/* Shows all commands and how to go on; or only a line for each of them. */
void command_list(FILE *to);
void command_list_names(FILE *to);

/* The help_filter of an argp: without a command, --help is about all of them. */
char *command_add_names(int key, const char *text, void *input);

/*
 * Parses the command line with the command's argp; `input` is for its parser. Messages begin with the command's name.
 * Ends the program after showing help or the version, and for wrong usage with EXIT_CODE_USAGE.
 */
void command_parse(const struct command *command, int argc, char **argv, void *input);

/*
 * Calls each() for all options of the argp and its children, with the name of an option's argument
 * also for its aliases. Headings of groups and hidden options are left out.
 */
void command_for_each_option(const struct argp *argp,
			     void (*each)(void *arg, const struct argp_option *option), void *arg);

#endif
