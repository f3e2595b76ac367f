/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_TABLES_OPTIONS_H
#define DP_CLI_TABLES_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "sandbox/parsers.h"

struct tables_form;

/* The options of `dwarfprof tables`. */
struct tables_options {
	char **files; /* point into argv */
	size_t n_files;
	const struct tables_form *form;
	bool regs; /* also show the less important registers */
	enum sandbox_mode sandbox;
	bool verbose;
};

/* Its input is a struct tables_options. */
extern const struct argp tables_options_argp;

/*
 * Parses the command line; argv[0] is the command's name. Prints help and errors and ends the
 * program, for wrong usage with EXIT_CODE_USAGE.
 */
void tables_options_parse(struct tables_options *ret, int argc, char **argv);

#endif
