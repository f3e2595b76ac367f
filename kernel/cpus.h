/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_CPUS_H
#define DP_KERNEL_CPUS_H

#include <stdbool.h>

/* Room for the list of the CPUs that are online, as the kernel writes it: "0-3,8" and an end of line. */
#define CPUS_LIST_SIZE 4096

/* The list, empty if it cannot be read; and the highest number in it, plus one. */
unsigned int cpus_read(char ret_list[CPUS_LIST_SIZE]);

/*
 * The highest number, plus one, of the CPUs that the machine has, be they online or not: what
 * has to be made for each CPU is made up to there. The kernel may think many more possible,
 * hundreds in some virtual machines; those that are added during a run are not sampled.
 */
unsigned int cpus_count_present(void);

bool cpus_has(const char *list, unsigned long cpu);

/* The first CPU of a list that was not in the one before; -1 if there is none. */
int cpus_find_new(const char *list, const char *before);

/* The same of a list as the kernel writes it, "0-3,8"; 0 if it is none. */
unsigned int cpus_count_list(const char *list);

#endif
