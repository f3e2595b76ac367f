/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_OUTPUT_OPTIONS_H
#define DP_CLI_OUTPUT_OPTIONS_H

#include <argp.h>
#include <stddef.h>

#include "profiler/outputs.h"

/* -o and --format, of all commands that make reports. */
struct output_options {
	const char *format; /* NULL: not given */
	/* What a command has in place of `text`, and writes to stdout if nothing is given; NULL: none */
	const struct report_format *own;
	struct output_request *requests;
	size_t n, size;
};

void output_options_done(struct output_options *options);

/* A further -o. Ends the program if memory is out. */
void output_options_add(struct output_options *options, struct argp_state *state, const char *path);

/*
 * All were given: find the format of each, by --format, else by the file's extension,
 * else by what suits stdout, which is meant if there is none. What makes no sense is
 * said, and the program ends with EXIT_CODE_USAGE.
 */
void output_options_complete(struct output_options *options, struct argp_state *state);

#endif
