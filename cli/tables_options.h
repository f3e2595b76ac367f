/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_TABLES_OPTIONS_H
#define DP_CLI_TABLES_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct tables_form;

/* What `dwarfprof tables` is asked for. */
struct tables_options {
	char **files; /* of argv */
	size_t n_files;
	const struct tables_form *form;
	bool regs; /* also the registers that rarely matter */
	bool verbose;
};

/*
 * Read the command line, whose first word is the name of the command. Help and
 * errors are printed, and the program ends, with EXIT_CODE_USAGE for what makes
 * no sense.
 */
void tables_options_parse(struct tables_options *ret, int argc, char **argv);

#endif
