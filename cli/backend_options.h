/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_BACKEND_OPTIONS_H
#define DP_CLI_BACKEND_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include "agent/agent.h"
#include "agent/relabel.h"

/*
 * The options of `dwarfprof agent` for backends. A URL or `--backend NAME` begins a backend, and the options that
 * follow belong to it.
 */
struct backend_settings {
	struct backend_options items[AGENT_BACKENDS];
	/* Of each: what its options point to. */
	const char *headers[AGENT_BACKENDS][BACKEND_HEADERS];
	struct deliver_label labels[AGENT_BACKENDS][BACKEND_LABELS];
	struct relabel rules[AGENT_BACKENDS];
	struct relabel all_rules; /* of all of them */
	size_t wrong_at;          /* where in its argument an option is wrong; 0: not known */
	size_t n;
	bool has_current; /* options belong to the last one */
};

/* The group that the options are in, and its parser; the input is a struct backend_settings. */
#define BACKEND_OPTIONS_GROUP 6
extern const struct argp backend_options_argp;

/* What follows belongs to no backend so far. */
void backend_settings_end(struct backend_settings *settings);

/* Whether the last backend lacks its URL. */
bool backend_settings_lack_url(const struct backend_settings *settings);

void backend_settings_done(struct backend_settings *settings);

/* Checks all after parsing. For wrong usage, prints a message and ends the program. */
void backend_settings_complete(struct backend_settings *settings, struct argp_state *state);

#endif
