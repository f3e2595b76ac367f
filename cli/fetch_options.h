/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_FETCH_OPTIONS_H
#define DP_CLI_FETCH_OPTIONS_H

#include <argp.h>
#include <stdint.h>

#include "cli/name_options.h"

/*
 * Debug files from servers, while an agent samples: only if that is asked for, by --debuginfod. Of
 * *ret_urls: NULL: not; "": from the servers in DEBUGINFOD_URLS.
 */
void fetch_options_parse(const char *text, struct name_options *names, const char **ret_urls);

/* After all options. */
void fetch_options_complete(struct name_options *names, const char *urls,
			    const struct argp_state *state);

/*
 * Has libdebuginfod use these servers, for so long at a time, and keep files where tables and names are kept; not
 * with threads, as it takes all of that from the environment. 0 or -ENOMEM.
 */
int fetch_options_apply(const char *urls, uint64_t time_ns);

#endif
