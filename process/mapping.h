/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_MAPPING_H
#define DP_PROCESS_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "process/process.h"

/* What a mapping of a process is of. */

/*
 * Find the binary and the bias of a mapping; without one it stays code that is in no
 * file, and of what the process has compiled itself. If the binary is pending, the mapping is.
 */
void mapping_resolve(struct process_table *table, struct process *process, struct mapping *mapping,
		     uint64_t inode, const char *name);

/* Do so for one of the process's list whose binary was pending, and is not any more. */
void mapping_settle(struct process_table *table, struct process *process, struct mapping *mapping);

/* Read a word of a process, which makes its page resident; the walker cannot. */
bool mapping_read_word(pid_t pid, uint64_t address, uint64_t *ret);

#endif
