/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_PROCESS_H
#define DP_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "binaries/binary.h"
#include "elf/packed.h"
#include "kernel/filter.h"
#include "process/history.h"
#include "process/hotspot.h"
#include "process/inherited.h"
#include "process/jit_objects.h"
#include "process/snapshot.h"

/*
 * The profiled processes and their mappings over time, kept in step with what the kernel's walker
 * sees.
 *
 * Each process has a history of executable mappings. Those of one moment become a snapshot for the
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

/*
 * Processes whose mappings could not be read, and when: the last ones, indexed by the low digits of
 * the PID.
 */
#define PROCESS_N_REFUSED 1024

struct refused_pid {
	pid_t pid;
	uint64_t time;
};

struct process_table {
	struct binary_store *binaries;
	struct fetchers *fetchers;      /* read memory of processes; NULL: done here */
	struct fetchers *name_fetchers; /* the same for the thread that looks up names */
	struct list_fetchers *lists;    /* read lists of mappings; NULL: done here */
	size_t n_awaited;               /* lists that are being read, */
	size_t deferred_bytes;          /* and records that wait for them */
	bool lists_ended;               /* some came, or were given up (process_lists_apply()), */
	bool lists_left;                /* and perhaps others */
	struct snapshot_store snapshots;
	struct jitted_store jitted;
	/* Tells the kernel the cell of a process's snapshot; 0: none any more. */
	int (*publish)(void *arg, pid_t pid, uint32_t cell);
	void *arg;
	bool all;                    /* follow every process, not only those added */
	bool no_binaries;            /* no user stacks are wanted: mappings do not matter */
	bool inherit;                /* also follow the children of added processes, */
	pid_t not_inherited;         /* but not this one; 0: all */
	const struct filter *filter; /* which processes to follow; NULL: every one */
	struct refused_pid *refused; /* PROCESS_N_REFUSED, allocated when needed */
	struct process *processes;
	uint64_t n_met;       /* numbers of processes so far */
	struct process *due;  /* those that process_table_publish() has to look at */
	uint64_t generation;  /* of the tables that the snapshots refer to */
	pid_t jit_turn;       /* whose described code is looked at first (jit_objects.h) */
	uint64_t jit_next;    /* and when */
	uint64_t recorded_ns; /* the last record of code that a process of the table has since */
	size_t n_large;       /* processes with many mappings (process_snapshot.h) */
	struct packed_reported packed;
	uint64_t looked;         /* when it last searched for processes that are gone */
	size_t n_unreadable;     /* processes left out, as a warning has said */
	size_t n_unlisted;       /* whose lists did not come, so far */
	size_t n_unknown_jvms;   /* JVMs that cannot be read */
	bool has_warned;         /* of snapshots without room */
	bool has_warned_of_file; /* of a file that cannot be opened without a capability */
};

/* The caller keeps both. publish: 0, or a negative errno, which ends the run. */
void process_table_init(struct process_table *table, struct pool *pool,
			struct binary_store *binaries,
			int (*publish)(void *arg, pid_t pid, uint32_t cell), void *arg);
void process_table_done(struct process_table *table);

/*
 * Adds a running process with its current mappings, which may have to be awaited (process_list.h),
 * and makes its tables. Returns 0, -ESRCH if there is no such process, -EACCES if its maps may not
 * be read, or another errno.
 */
int process_table_add(struct process_table *table, pid_t pid);

/* Adds a process that is about to execute a program: samples count from the exec on. */
int process_table_add_launched(struct process_table *table, pid_t pid);

struct process *process_table_find(const struct process_table *table, pid_t pid);

/*
 * Adds the process of a sample, unless it is known. The kernel accepted it without a record: it has
 * changed its user, name or cgroup, or records were lost. Returns 1 if it is new; 0 if not, or if
 * its mappings cannot be read, which is tried again after a second; or -ENOMEM.
 */
int process_table_meet(struct process_table *table, pid_t pid, uint64_t now);

/*
 * perf's records. Processes that are not in the table are ignored; a child of one that is in it is
 * added. The functions copy names, and return 0, or -ENOMEM or another negative errno, which ends the
 * run.
 */
struct mmap_record {
	pid_t pid;
	uint64_t time, start, end, offset;
	struct mapped_id file; /* inode 0: none */
	const char *name;
};

int process_table_on_mmap(struct process_table *table, const struct mmap_record *record);
int process_table_on_fork(struct process_table *table, pid_t parent, pid_t child, uint64_t time);
void process_table_on_exec(struct process_table *table, pid_t pid, uint64_t time);
/*
 * A thread of the process has exited. Whether it was the last is checked before the process is
 * forgotten.
 */
void process_table_on_exit(struct process_table *table, pid_t pid, uint64_t time);

/*
 * The walker could not read a cookie: from now on, those of new mappings are brought into memory. If
 * nothing has changed since the snapshot with this id, reads all of them, which makes them resident,
 * and removes those that cannot be read.
 */
void process_table_miss_cookie(struct process_table *table, struct process *process,
			       uint64_t snapshot);

/*
 * The walker found code that the records do not explain: a file was written to, or code was moved.
 * The mappings are read again after a while, because the change may not be finished.
 */
void process_table_doubt(struct process *process, uint64_t now);

/* Records were lost: reads the mappings of every process again. */
void process_table_resync(struct process_table *table, uint64_t time);

/*
 * Applies what workers have found out about binaries (binary_store_collect()) to the mappings, from
 * their beginning; to be published.
 */
void process_table_settle(struct process_table *table);

/* True if the process had a mapping of a pending binary at that time, or they are being read. */
bool process_is_pending(const struct process *process, uint64_t time);

/* Makes new snapshots for all processes that changed, and publishes them to the kernel. */
int process_table_publish(struct process_table *table, uint64_t now);

/*
 * Frees what cannot be needed any more: snapshots that were replaced, and processes that exited,
 * before `before`.
 */
void process_table_forget(struct process_table *table, uint64_t before);

/* True if it runs, and the PID is still its own. */
bool process_is_same(const struct process *process);

/* True if the binary's cookie is readable in memory and different. */
bool process_cookie_differs(const struct process_table *table, const struct process *process,
			    const struct mapping *mapping);

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
