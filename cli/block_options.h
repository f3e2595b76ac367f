/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_BLOCK_OPTIONS_H
#define DP_CLI_BLOCK_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "profiler/profiler.h"

/* What the options of --off-cpu and --wall say. */

/* In place of a time that was not given. */
#define BLOCK_TIME_NONE UINT64_MAX

/* "100" and "100us", "5ms", "1s": nanoseconds. -EINVAL for anything else. */
int block_options_parse_time(const char *text, uint64_t *ret_ns);

/* "S,D": bits by enum dp_state. -EINVAL for other letters, and for none. */
int block_options_parse_states(const char *text, unsigned int *ret);

/*
 * Returns what makes no sense together, as a sentence; or NULL, and what was not
 * given has its default. hz_given: -F was.
 */
const char *block_options_complete(struct profiler_options *r, bool hz_given);

#endif
