/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_INHERITED_H
#define DP_PROCESS_INHERITED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process;
struct process_table;

/*
 * The mappings that a process has inherited from its parent. They are copied only when needed, because most children
 * execute another program at once.
 */
struct inherited {
	pid_t parent;         /* 0: there is nothing to copy (any more) */
	uint64_t number;      /* the parent's */
	uint64_t from, until; /* times; until is TIME_NEVER if it still has them */
};

/* Notes a fork at `time`. The child has no mappings yet. 0 or -ENOMEM. */
int inherited_begin(struct process_table *table, struct process *child, struct process *parent,
		    uint64_t time);

/* Whether some that it had at a time are to be copied. */
static inline bool inherited_is_due(const struct inherited *inherited, uint64_t time)
{
	return inherited->parent != 0 && time < inherited->until;
}

/* Copies them if due. Mappings of the parent that ended more than a second ago are lost. 0 or -ENOMEM. */
int inherited_copy(struct process_table *table, struct process *child);

/* The process with the PID of a sample, which has all mappings of its time; or NULL. */
struct process *inherited_find(struct process_table *table, pid_t pid, uint64_t time);

#endif
