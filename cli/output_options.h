/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_OUTPUT_OPTIONS_H
#define DP_CLI_OUTPUT_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "profiler/outputs.h"
#include "report/group.h"

/* -o, --format, --by and --wide, of all commands that write reports. */
struct output_options {
	const char *format;     /* NULL: not given */
	struct group by_group;  /* what `by` of the requests points at */
	const struct group *by; /* NULL: not given */
	bool wide;
	/* The command's own default format for stdout, instead of `text`; NULL: none. */
	const struct report_format *own;
	const char *crashes; /* where --crashes writes; NULL: not given */
	bool only_crashes;   /* nothing else is sampled: without -o, there is no other report */
	struct output_request *requests;
	size_t n, size;
};

#define OUTPUT_OPTIONS_BY_HELP                                                                                \
	"tell stacks apart by this: cpu, pid, tid, comm, thread_name, outcome, state, language, or a label, " \
	"label:KEY"

/* Of all commands that write text for people. */
#define OUTPUT_OPTIONS_WIDE                                                                        \
	{                                                                                          \
		"wide", 'w', NULL, 0, "do not fit lines to the terminal; names are not shortened", \
			4                                                                          \
	}

void output_options_done(struct output_options *options);

/* Adds a -o. Ends the program if out of memory. */
void output_options_add(struct output_options *options, struct argp_state *state, const char *path);

/* --by. What is no label ends the program. */
void output_options_set_by(struct output_options *options, struct argp_state *state,
			   const char *text);

/*
 * Ends the program, because there is no format with that name, or for that path. The known ones are
 * written by `list`.
 */
void output_options_fail_format(const struct argp_state *state, const char *name, bool is_path,
				void (*list)(FILE *to));

/*
 * Chooses the format of each output after parsing: by --format, else by the file's extension, else
 * the default for stdout, which is also the output if there is no -o. For wrong usage, prints a
 * message and ends the program with EXIT_CODE_USAGE.
 */
void output_options_complete(struct output_options *options, struct argp_state *state);

#endif
