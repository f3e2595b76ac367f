/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_PROCESS_TABLE_H
#define DP_PROCESS_PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "binaries/binary_store.h"
#include "binaries/jitted.h"
#include "elf/packed.h"
#include "process/process.h"
#include "process/snapshot.h"

struct fetchers;
struct filter;
struct list_fetchers;
struct pool;

/*
 * Processes whose mappings could not be read, and when: the last ones, indexed by the low digits of
 * the PID.
 */
#define PROCESS_N_REFUSED 1024

struct refused_pid {
	pid_t pid;
	uint64_t time;
};

/*
 * The profiled processes and their mappings over time, kept in step with what the kernel's walker
 * sees.
 */
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

/* True if the binary's cookie is readable in memory and different. */
bool process_cookie_differs(const struct process_table *table, const struct process *process,
			    const struct mapping *mapping);

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

/* Makes new snapshots for all processes that changed, and publishes them to the kernel. */
int process_table_publish(struct process_table *table, uint64_t now);

/*
 * Frees what cannot be needed any more: snapshots that were replaced, and processes that exited,
 * before `before`.
 */
void process_table_forget(struct process_table *table, uint64_t before);

#endif
