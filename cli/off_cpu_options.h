/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_OFF_CPU_OPTIONS_H
#define DP_CLI_OFF_CPU_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "profiler/profiler_options.h"

/* Parses the options of --off-cpu and --wall. */

/* Marks a time that was not given. */
#define BLOCK_TIME_NONE UINT64_MAX

/* Parses "100", "100us", "5ms" or "1s" to nanoseconds. -EINVAL for anything else. */
int off_cpu_options_parse_time(const char *text, uint64_t *ret_ns);

/* Parses "S,D" to bits by enum dp_state. -EINVAL for other letters and for an empty list. */
int off_cpu_options_parse_states(const char *text, unsigned int *ret);

/*
 * Fills in the defaults of options that were not given. Returns NULL, or a sentence if the options
 * contradict each other.
 */
const char *off_cpu_options_complete(struct profiler_options *r);

#endif
