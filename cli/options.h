/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_OPTIONS_H
#define DP_CLI_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/name_options.h"
#include "cli/output_options.h"
#include "kernel/filter.h"
#include "samples/redaction.h"
#include "profiler/record.h"

/* The parsed command line. */
struct options {
	struct record_options record;
	struct name_options names;    /* record.symbols is made from them */
	struct output_options output; /* owns what record.outputs point to */
	bool hz_given;                /* -F was given */
	bool event_given;             /* -e, --off-cpu or --wall was given */
	struct redaction redaction;   /* --redact; record.profiler.label_sources points to it */
	/* Owned; events refer to them: what a glob of -e stood for. */
	char **event_texts;
	size_t n_event_texts, event_texts_size;
	/* Owned; record.profiler.target.pids, tids and filter point to them. */
	pid_t *pids, *tids;
	struct filter filter;
	char *command_line; /* owned; record.command_line points to it */
};

/*
 * Parses the command line. Prints help and errors and ends the program, for wrong usage with
 * EXIT_CODE_USAGE.
 */
void options_parse(struct options *ret, int argc, char **argv);
void options_done(struct options *options);

/* Those of a run; its input is a struct options. */
extern const struct argp options_record;

/*
 * Groups of options that several commands share; their input is a struct options. options_shared:
 * all commands that show stacks; the others: those that sample, what and when, and those that write
 * files.
 */
extern const struct argp options_shared;
extern const struct argp options_targets;
extern const struct argp options_sampling;
extern const struct argp options_files;

/* Sets the defaults. argv is kept as the command line of reports. */
void options_init(struct options *ret, char **argv);

/* Handles an argument: the command after --, or dwarfprof's own command in front. */
void options_parse_command(struct options *options, struct argp_state *state, char *arg,
			   const char *name);

/*
 * Check the options after parsing, those of sampling before those of files. For wrong usage they
 * print a message and end the program.
 */
void options_complete(struct options *options, struct argp_state *state);
void options_complete_output(struct options *options, struct argp_state *state);

#endif
