/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_OPTIONS_H
#define DP_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "record.h"

/* The command line, read. */
struct options {
	struct record_options record;
	bool verbose;
	pid_t *pids;  /* owned: what record.pids points at */
	char *uprobe; /* owned: what record.uprobe_path and uprobe_symbol point into */
};

/*
 * Read the command line. Help and errors are printed, and the program ends,
 * with EXIT_CODE_USAGE for what makes no sense.
 */
void options_parse(struct options *ret, int argc, char **argv);
void options_done(struct options *options);

/* "30", "30s", "1.5s", "500ms", "5m": nanoseconds. -EINVAL for anything else, and for zero. */
int options_parse_duration(const char *text, uint64_t *ret);

/* "4194304", "4096K", "4M", "1G": bytes. -EINVAL for anything else. */
int options_parse_size(const char *text, uint64_t *ret);

#endif
