/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_NAME_OPTIONS_H
#define DP_CLI_NAME_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include "symbols/names.h"

/* What names look like, and who is asked for them: of all commands that show stacks. */
struct name_options {
	struct names_options options;
	bool verbose;
};

/* A child of the commands' own argp; its input is a struct name_options. */
extern const struct argp name_options_argp;

/*
 * All were given: what is the same for the whole run. Makes the names, which are the caller's to
 * free when it is over; NULL, and that is said, if memory is short.
 */
struct names *name_options_apply(const struct name_options *options);

/* Of the commands that read recordings: where the names are from, too. */
struct recording_names {
	struct name_options names;
	const char *root; /* NULL: none */
	bool no_cache;
};

/* As name_options_argp, which is a part of it; its input is a struct recording_names. */
extern const struct argp recording_names_argp;

/*
 * As name_options_apply(). From now on servers may be asked (fetch.h), until fetch_end(),
 * and names are kept on disk, until they are freed, when all recordings were closed.
 */
struct names *recording_names_apply(const struct recording_names *recording);

#endif
