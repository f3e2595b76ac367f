/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_LOADER_LEVEL_H
#define DP_ELF_LOADER_LEVEL_H

/*
 * Libraries that are only for CPUs of some level are in directories glibc-hwcaps/LEVEL. 1 is every CPU's level.
 * What an architecture calls its levels, and what CPUs of each have, is in its folder.
 */

/* The level that a file in such a directory needs; INT_MAX: none that is known. */
int loader_level_of_path(const char *path);

/* That of this machine's CPU. */
int loader_level_of_cpu(void);

#endif
