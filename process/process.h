/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_PROCESS_H
#define DP_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "binaries/binary.h"
#include "process/history.h"
#include "process/hotspot.h"
#include "process/inherited.h"
#include "process/jit_objects.h"
#include "process/snapshot.h"

/*
 * A profiled process. It has a history of executable mappings; those of one moment become a snapshot for the
 * kernel.
 */
struct process {
	pid_t pid;
	pid_t thread;    /* a running thread, through which /proc shows the process */
	uint64_t number; /* unique in the table, never used again */
	struct history mappings;
	struct inherited inherited;      /* mappings that are not in there yet */
	size_t max_mappings;             /* if there are more, they are read again (unrecorded.h) */
	uint64_t doubted;                /* when code was found that the mappings do not explain; 0:
	                            * never */
	struct jit_objects *jit_objects; /* NULL: it does not describe its code */
	uint64_t n_generated;            /* frames of its samples in code that is in no file */
	struct hotspot *hotspot;         /* NULL: no JVM was seen yet */
	struct jitted *jitted;           /* its JIT code; NULL: none was seen yet */
	struct snapshot *snapshot;       /* the one that the kernel uses */
	bool packed_asked;               /* it was asked if the program is packed */
	bool lacks_cookies;     /* one was not in memory: those of new mappings are brought there */
	bool blocked_asked;     /* its threads were looked at, if they are blocked already */
	struct binary *program; /* of which that is still unknown; NULL: none */
	uint64_t as_of;         /* the mappings are those of this time: older records are in them */
	uint64_t read;          /* when the mappings were last read */
	uint64_t read_ns;       /* CPU time that took; 0: too little to matter */
	uint64_t published;     /* when the snapshot was made for the kernel */
	uint64_t looked_back;   /* when one was last made for samples before that */
	bool changed;           /* the mappings are newer than the snapshot */
	bool is_due;            /* it is in the table's list of those that are */
	struct process **due;   /* that list; NULL: it is in no table */
	struct process *prev_due, *next_due;
	bool has_pending;          /* some mappings' binaries are not known yet */
	bool is_unread;            /* its mappings are not known */
	int list_err;              /* why they could not be read the last time; 0: they could */
	struct process_list *list; /* they are being read (process_list.h); NULL: they are not */
	size_t n_held;             /* number of samples that wait for them */
	uint64_t sampled_from;     /* earlier samples do not belong to the profiled program */
	uint64_t known_from;       /* the process had started by then */
	uint64_t exited;           /* its last thread may have exited then; TIME_NEVER: it runs */
	uint64_t left;             /* when it no longer passed the filter; TIME_NEVER: it passes */
	bool is_replaced;          /* another process has had its PID since */
	UT_hash_handle hh;
};

/* True if the process had a mapping of a pending binary at that time, or they are being read. */
bool process_is_pending(const struct process *process, uint64_t time);

/* True if it runs, and the PID is still its own. */
bool process_is_same(const struct process *process);

/*
 * process_table_publish() looks only at processes that are due: the mappings have changed, or are in
 * doubt, or are many, or there is a JVM that is starting. Most do nothing of this.
 */
void process_set_due(struct process *process);

/* The mappings have changed. */
static inline void process_change(struct process *process)
{
	process->changed = true;
	process_set_due(process);
}

/* Adds a mapping, and ends the parts of older ones that it covers. 0 or -ENOMEM. */
static inline int process_add_mapping(struct process *process, const struct mapping *mapping)
{
	process_change(process);
	process->has_pending |= mapping->is_pending;
	jit_objects_cover(process, mapping);
	return history_add(&process->mappings, mapping);
}

static inline void process_end_mappings(struct process *process, uint64_t time)
{
	if (inherited_is_due(&process->inherited, TIME_NEVER - 1))
		process->inherited.until = time;
	history_end(&process->mappings, time);
	process_change(process);
}

/* The mapping that contained an address at a time, or NULL. */
static inline const struct mapping *process_find(const struct process *process, uint64_t address,
						 uint64_t time)
{
	return history_find(&process->mappings, address, time);
}

#endif
