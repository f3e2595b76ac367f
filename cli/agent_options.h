/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_AGENT_OPTIONS_H
#define DP_CLI_AGENT_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include "agent/agent.h"
#include "cli/backend_options.h"
#include "cli/options.h"

/* The options of `dwarfprof agent`, from its configuration file and then from the command line. */
struct agent_settings {
	struct options options;
	struct agent_options agent; /* made of all others; first used after parsing */
	struct backend_settings backends;
	const char *config; /* -c; NULL: none */
	int config_fd;      /* has the text of that file; -1: none does */
	bool check;         /* --check */
	bool off_cpu;
	bool redacts_by_file;   /* --redact is the configuration file's */
	const char *debuginfod; /* URLs (fetch_options.h) */
	unsigned int label_sets;
	bool is_partial; /* more is to be parsed */
	FILE *errors;    /* where messages about a configuration go; NULL: stderr */
	char **words;    /* owned, like the strings, which the options point to */
	size_t n_words, words_size;
};

extern const struct argp agent_options_argp;

/*
 * Parses a command line, and before that the configuration file that it names. Wrong usage ends the program, with a
 * message that gives line and column in the file. config_fd: a copy of that file to read instead; -1: none. 0 or
 * -ENOMEM, or the negative errno of reading the file, after a message.
 */
int agent_settings_new(int argc, char **argv, int config_fd, struct agent_settings **ret);
/* Accepts NULL. Returns NULL. */
struct agent_settings *agent_settings_free(struct agent_settings *settings);

#endif
