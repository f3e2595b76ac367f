/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_OPTIONS_H
#define DP_CLI_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/name_options.h"
#include "cli/output_options.h"
#include "kernel/filter.h"
#include "profiler/record.h"

/* The command line, read. */
struct options {
	struct record_options record;
	struct name_options names;    /* record.symbols follows from them */
	struct output_options output; /* record.outputs point into */
	bool hz_given;                /* -F was */
	bool event_given;             /* -e, --off-cpu or --wall was */
	/* Owned: what record.profiler.target.pids, tids, and filter point at */
	pid_t *pids, *tids;
	struct filter filter;
	char *command_line; /* owned: record.command_line */
};

/*
 * Read the command line. Help and errors are printed, and the program ends,
 * with EXIT_CODE_USAGE for what makes no sense.
 */
void options_parse(struct options *ret, int argc, char **argv);
void options_done(struct options *options);

/*
 * Parts that commands with further options share; their input is a struct options. What
 * all commands have that show stacks; those that sample; those that write files.
 */
extern const struct argp options_shared;
extern const struct argp options_sampling;
extern const struct argp options_files;

/* Nothing is given yet; the command line was that. */
void options_init(struct options *ret, char **argv);

/* An argument: the command after --, or the name of dwarfprof's own command in front. */
void options_parse_command(struct options *options, struct argp_state *state, char *arg,
			   const char *name);

/* All were given: what makes no sense is said, and ends the program. First of sampling, then of files. */
void options_complete(struct options *options, struct argp_state *state);
void options_complete_output(struct options *options, struct argp_state *state);

#endif
