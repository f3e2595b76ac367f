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

/*
 * Do so for one of the process's list whose binary was pending. False: it still is, or another one
 * is that it turned out to be the same as.
 */
bool mapping_settle(struct process_table *table, struct process *process, struct mapping *mapping);

/*
 * Say, once for each program, that the process runs a packed one, if it was asked whether it does.
 * False: its program is not known yet.
 */
bool process_settle_program(struct process_table *table, struct process *process);
/* It is another process's number, or another program, from now on. */
void process_forget_program(struct process *process);

/* Read a word of a process, which makes its page resident; the walker cannot. */
bool mapping_read_word(pid_t pid, uint64_t address, uint64_t *ret);

#endif
