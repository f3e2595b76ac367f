/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_UNRECORDED_H
#define DP_PROCESS_UNRECORDED_H

#include <stdbool.h>
#include <stdint.h>

#include "process/process.h"

/*
 * What no record tells of, and would be kept for ever: perf reports no munmap(), and the exit of a
 * process goes by unnoticed if it is lost, or comes before the process is known.
 */

/* A process that begins may have so many mappings. */
#define UNRECORDED_SPARE 128

/* The mappings of a process have been read: there are so many. */
static inline void unrecorded_note(struct process *process, size_t n_mappings)
{
	process->max_mappings = 2 * n_mappings + UNRECORDED_SPARE;
}

/* Has it so many more by now that some are most likely gone, and it pays to read them again? */
bool unrecorded_unmaps(const struct process *process);

/* Every ten seconds, look for processes that are gone: they count as having exited now. */
void unrecorded_exits(struct process_table *table);

#endif
