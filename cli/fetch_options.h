/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_FETCH_OPTIONS_H
#define DP_CLI_FETCH_OPTIONS_H

#include <argp.h>
#include <stdint.h>

#include "cli/name_options.h"

/*
 * Parses --debuginfod, by which an agent gets debug files from servers while it samples. *ret_urls: NULL: no servers;
 * "": those in DEBUGINFOD_URLS.
 */
void fetch_options_parse(const char *text, struct name_options *names, const char **ret_urls);

/* After all options. */
void fetch_options_complete(struct name_options *names, const char *urls,
			    const struct argp_state *state);

/*
 * Makes libdebuginfod use these servers, with a time limit per request, and cache files beside tables and names. Call
 * it before threads are started, because it sets environment variables. 0 or -ENOMEM.
 */
int fetch_options_apply(const char *urls, uint64_t time_ns);

#endif
