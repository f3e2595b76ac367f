/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_MODE_OPTIONS_H
#define DP_CLI_MODE_OPTIONS_H

#include <argp.h>
#include <stdio.h>

#include "profiler/profiler_options.h"

/* The words of --unwind and --native-frames. For another word, a message ends the program. */

enum dp_unwind mode_options_parse_unwind(struct argp_state *state, const char *text);

enum native_frames mode_options_parse_native(struct argp_state *state, const char *text);

/* The --table-memory, in bytes. */
uint64_t mode_options_parse_table_memory(struct argp_state *state, const char *text);

/* These print the words of one of them. */
void mode_options_list_unwind(FILE *to);
void mode_options_list_native(FILE *to);

#endif
