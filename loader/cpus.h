/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOADER_CPUS_H
#define DP_LOADER_CPUS_H

/*
 * The highest number of a CPU that is online, plus one: what has to be made
 * for each CPU is made up to there. The kernel may think many more possible,
 * hundreds in some virtual machines; those that come online during a run are
 * not sampled.
 */
unsigned int cpus_count(void);

/* The same of a list as the kernel writes it, "0-3,8"; 0 if it is none. */
unsigned int cpus_count_list(const char *list);

#endif
