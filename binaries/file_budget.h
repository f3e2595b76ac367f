/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_FILE_BUDGET_H
#define DP_BINARIES_FILE_BUDGET_H

#include <stdbool.h>

/*
 * How many files of binaries may be open, so that some descriptors are left for everything else:
 * events, maps, rings, reports. Anyone can map any number of files.
 *
 * Returns whether a file may stay open. The lowest free number becomes a descriptor, so its number
 * tells how many are in use: up to half of RLIMIT_NOFILE for files of users, three quarters with
 * those of root, which are the system's libraries and programs.
 */
bool file_budget_allows(int fd);

#endif
