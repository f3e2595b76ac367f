/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_UNRECORDED_H
#define DP_PROCESS_UNRECORDED_H

#include <stdbool.h>
#include <stdint.h>

#include "process/process_table.h"

/*
 * Finds changes without records, which would otherwise be kept for ever: perf does not report
 * munmap(), and a process's exit is missed if its record is lost, or comes before the process is
 * known.
 */

/* The number of mappings that a new process may have. */
#define UNRECORDED_SPARE 128

/* The process's mappings have been read; there are so many. */
static inline void unrecorded_note(struct process *process, size_t n_mappings)
{
	process->max_mappings = 2 * n_mappings + UNRECORDED_SPARE;
}

/*
 * True if there are so many more mappings now that some are probably gone, and reading them again
 * pays.
 */
bool unrecorded_unmaps(const struct process *process);

/* Every ten seconds, searches for processes that are gone; they count as having exited now. */
void unrecorded_exits(struct process_table *table);

#endif
