/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_PROCESS_LIST_H
#define DP_PROCESS_PROCESS_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "process/process_table.h"

struct loop;
struct sideband;

/*
 * Lists of the mappings of processes, /proc/PID/maps. A process can lock its own for as long as it
 * likes, so fetchers read them, and nobody waits (sandbox/list_fetchers.h). Until a list is there,
 * the process's samples are held, and records of its mappings are kept; then they are applied, as
 * if the list had been read when it was asked for. An exec makes it worthless.
 *
 * What could not be read is read again after a while. A process whose mappings are not known has no
 * snapshot (no_process).
 */
struct process_list {
	uint64_t number;  /* of the request */
	uint64_t time;    /* the mappings will be those of this time */
	uint64_t started; /* the process: by then, another one may have its number */
	bool is_void;     /* earlier mappings are no longer trusted */
	bool is_again;    /* to be read again, with these as `time` and `is_void`: */
	uint64_t again;
	bool again_void;
	struct mmap_record *deferred; /* with names of their own */
	size_t n_deferred, deferred_size;
};

/* Higher addresses are the kernel's; [vsyscall] is among them. */
#define PROCESS_ADDRESS_END (UINT64_C(1) << DP_METHOD_SHIFT)

/*
 * Reads a process's mappings, or has them read: they replace those that it has, from a time on.
 * is_void: if they cannot be read, nothing is known. Returns 0, -ESRCH if it has ended, -EACCES if
 * its maps may not be read, or another negative errno.
 */
int process_list_read(struct process_table *table, struct process *process, uint64_t time,
		      bool is_void);
/* Whether the mappings may be read again: with very many, that may take only a tenth of the time. */
bool process_list_is_due(const struct process *process);

/* Keeps a record until the list is there. 0 or -ENOMEM. */
int process_list_defer(struct process_table *table, struct process *process,
		       const struct mmap_record *record);
/* The process executes a program. */
void process_list_on_exec(struct process_table *table, struct process *process, uint64_t time);
/* The list, if it is being read, is not wanted any more. */
void process_list_cancel(struct process_table *table, struct process *process);

/* Is a list being read that will tell the mappings of this time? */
static inline bool process_list_decides(const struct process *process, uint64_t time)
{
	const struct process_list *list = process->list;

	return list && (process->is_unread || time >= list->time);
}

/*
 * Applies the lists that had arrived when process_lists_look() was called or the loop found them. Records of earlier
 * events must have been applied since (sideband_drain()), because an exec invalidates a list. Returns whether any list
 * has arrived or was given up. After some milliseconds, leaves the rest to the next call (table->lists_left).
 */
bool process_lists_apply(struct process_table *table);
void process_lists_look(const struct process_table *table);
/* The loop wakes up when there is a list. 0 or a negative errno. */
int process_lists_listen(struct process_table *table, struct loop *loop);

/* At the end: says how many did not come. */
void process_lists_tell(const struct process_table *table);

/* Does all of this, and waits for it some milliseconds. */
bool process_lists_wait(struct process_table *table, struct sideband *sideband, int timeout_ms);
/*
 * For the time before sampling, when no records need handling. process_lists_advance() applies the lists that are
 * there; process_lists_settle() waits for all, but only while some arrive: the others may be locked for ever.
 */
void process_lists_advance(struct process_table *table);
void process_lists_settle(struct process_table *table);

#endif
