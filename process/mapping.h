/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_MAPPING_H
#define DP_PROCESS_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "process/process_table.h"

/* Finds out what a mapping of a process contains. */

/*
 * Finds the binary and the bias of a mapping. Without a binary it is code in no file, perhaps the
 * process's JIT code. If the binary is pending, so is the mapping.
 */
void mapping_resolve(struct process_table *table, struct process *process, struct mapping *mapping,
		     const struct mapped_id *file, const char *name);

/* The same for a mapping whose file is known to be the one of a binary. */
void mapping_resolve_as(struct process_table *table, struct process *process,
			struct mapping *mapping, struct binary *binary, const char *name);

/*
 * The same for a mapping in the process's history whose binary was pending. False: it still is, or it
 * turned out to be the same file as another binary that is.
 */
bool mapping_settle(struct process_table *table, struct process *process, struct mapping *mapping);

/*
 * Warns, once per program, that the process runs a packed program, if that was asked. False: its
 * program is not known yet.
 */
bool process_settle_program(struct process_table *table, struct process *process);
/* The PID belongs to another process or program from now on. */
void process_forget_program(struct process *process);

#endif
