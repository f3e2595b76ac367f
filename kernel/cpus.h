/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_CPUS_H
#define DP_KERNEL_CPUS_H

#include <stdbool.h>

/* Size of a buffer for the list of online CPUs in the kernel's format: "0-3,8" and a newline. */
#define CPUS_LIST_SIZE 4096

/* Reads the list; it is empty if it cannot be read. Returns its highest CPU number plus one. */
unsigned int cpus_read(char ret_list[CPUS_LIST_SIZE]);

/*
 * Returns the highest number plus one of the CPUs that are present, online or not. Per-CPU objects
 * are made for that many. The kernel may count many more as possible, hundreds in some virtual
 * machines; CPUs that are added during a run are not sampled.
 */
unsigned int cpus_count_present(void);

bool cpus_has(const char *list, unsigned long cpu);

/* Returns the first CPU in a list that is not in the list before, or -1. */
int cpus_find_new(const char *list, const char *before);

/* Returns the highest number plus one in a list such as "0-3,8", or 0 if it is not a list. */
unsigned int cpus_count_list(const char *list);

#endif
