/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_TABLES_H
#define DP_CLI_TABLES_H

#include "cli/tables_options.h"

/*
 * Show the tables of the files, and of those in the directories, on stdout.
 * What cannot be read is named on stderr. Returns the exit code.
 */
int tables_run(const struct tables_options *options);

#endif
