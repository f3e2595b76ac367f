/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_NAME_OPTIONS_H
#define DP_CLI_NAME_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include "names.h"

/* What names look like, and where they are from: of the commands that read recordings. */
struct name_options {
	struct names_options names;
	bool no_symbols;
	bool no_cache;
	const char *root; /* NULL: none */
	bool verbose;
};

/* A child of the commands' own argp; its input is a struct name_options. */
extern const struct argp name_options_argp;

/* --demangle. Ends the program if there is no such style. */
void name_options_parse_demangle(struct names_options *names, struct argp_state *state,
				 const char *text);

/* --debuginfod-timeout. Ends the program if it is no time. */
void name_options_parse_timeout(struct names_options *names, struct argp_state *state,
				const char *text);

/*
 * All were given: what is the same for the whole run. From now on servers may be asked
 * (fetch.h), until fetch_end(), and names are kept on disk, until name_options_done().
 */
void name_options_apply(const struct name_options *options);

/* The end of the run: all recordings were closed. */
void name_options_done(void);

#endif
