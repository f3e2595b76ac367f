/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_TABLES_H
#define DP_CLI_TABLES_H

#include "cli/tables_options.h"

/*
 * Shows the tables of files, and of those in directories, on stdout. Reports unreadable files on
 * stderr. Returns the exit code.
 */
int tables_run(const struct tables_options *options);

#endif
