/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_NAME_OPTIONS_H
#define DP_CLI_NAME_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sandbox/parsers.h"
#include "symbols/names.h"

/* Options for the form of names and where they are looked up, of all commands that show stacks. */
struct name_options {
	struct names_options options;
	bool has_timeout; /* --debuginfod-timeout was given */
	bool verbose;
};

/* argp options of the child parser; its input is a struct name_options. */
extern const struct argp name_options_argp;

/* Writes what --demangle takes: "simple, none, full". */
void name_options_list_styles(FILE *to);

/*
 * Applies the options after parsing. Returns the names object, which the caller frees after the
 * run; NULL, after a message, if out of memory.
 */
struct names *name_options_apply(const struct name_options *options);

/* Name options of commands that read recordings; adds the place of binaries. */
struct recording_names {
	struct name_options names;
	const char *root;        /* NULL: not given */
	const char *from, *to;   /* as given, or NULL */
	uint64_t from_ns, to_ns; /* made of these: time of day; 0: no end */
	bool no_cache;
	enum sandbox_mode sandbox;
};

/* Includes name_options_argp; its input is a struct recording_names. */
extern const struct argp recording_names_argp;

/*
 * Like name_options_apply(); NULL also if confined processes are required and cannot be had. Servers
 * may be queried (fetch.h) until fetch_end(). What is looked up is also kept on disk. Free the names
 * after all recordings are closed.
 */
struct names *recording_names_apply(const struct recording_names *recording);

/*
 * Confines a process that confined_run() has made for reading recordings. All of them, and all outputs, are
 * open. 0, or a negative errno after a message.
 */
int recording_names_confine(const struct recording_names *recording, struct names *names);

#endif
