/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_EVENT_OPTIONS_H
#define DP_CLI_EVENT_OPTIONS_H

#include "cli/options.h"

/*
 * The events of -e, --off-cpu and --wall. For wrong usage, these functions print a message and end
 * the program.
 */

/* Sets the event, or adds it to others if several may be sampled at once. */
void event_options_set(struct options *options, struct argp_state *state,
		       const struct event *event);

/*
 * Adds the events of an -e: "page-faults,context-switches", or one "uprobe:". event_options_done()
 * frees what they refer to.
 */
void event_options_parse(struct options *options, struct argp_state *state, char *text);
void event_options_done(struct options *options);

/* Sets --alloc. size: its argument; NULL: it has none */
void event_options_set_alloc(struct options *options, struct argp_state *state, const char *size);

/* Adds a --probe. */
void event_options_set_probe(struct options *options, struct argp_state *state, const char *text);
/* Adds a --value, NAME[:UNIT], and splits the text. */
void event_options_set_value(struct options *options, struct argp_state *state, char *text);
/* Sets --redact, which may be given once. */
void event_options_set_redaction(struct options *options, struct argp_state *state,
				 const char *regex);

/*
 * After parsing: adds the event of --crashes, checks rates and which options events exclude, and sets the event's
 * default limit if none is given.
 */
void event_options_complete(struct options *options, struct argp_state *state);

#endif
