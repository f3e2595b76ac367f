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
#include "process/snapshot.h"

/*
 * The processes that are profiled and what they have mapped, followed through
 * time and kept in step with what the kernel's walker sees.
 *
 * Each process has a list of executable mappings, each with the time it came
 * and went. From the list as it is at one moment a snapshot is made, which is what
 * the kernel uses.
 */

struct process {
	pid_t pid;
	pid_t thread;             /* one that runs, through which /proc shows the process */
	struct mapping *mappings; /* in the order in which they came */
	size_t n_mappings, mappings_size;
	size_t max_mappings;       /* with more, they are read again (unrecorded.h) */
	uint64_t n_ended;          /* how many of them have ended so far */
	uint64_t doubted;          /* when other code was found than they tell of; 0: it was not */
	struct jitted *jitted;     /* what it compiled itself; NULL: no such code was seen yet */
	struct snapshot *snapshot; /* the one that the kernel uses now */
	bool packed_asked;         /* whether the program was packed */
	struct binary *program;    /* of which that is not known yet; NULL: none */
	bool changed;              /* the list is newer than the snapshot */
	bool has_pending;          /* of some of them the binary is not known yet */
	size_t n_held;             /* samples that wait for that */
	uint64_t sampled_from;     /* samples from before are not of the program that is profiled */
	uint64_t known_from;       /* it had been started by then */
	uint64_t exited;           /* when its last thread may have; TIME_NEVER: it runs */
	uint64_t left;    /* when it became one that is filtered out; TIME_NEVER: it is not */
	bool is_replaced; /* its number is that of another process since then */
	UT_hash_handle hh;
};

/* Processes whose mappings could not be read, and when: the last ones, by the end of their number. */
#define PROCESS_N_REFUSED 1024

struct refused_pid {
	pid_t pid;
	uint64_t time;
};

struct process_table {
	struct binary_store *binaries;
	struct snapshot_store snapshots;
	struct jitted_store jitted;
	/* Tell the kernel where the snapshot of a process is; cell 0: nowhere any more. */
	int (*publish)(void *arg, pid_t pid, uint32_t cell);
	void *arg;
	bool all;         /* every process is of interest, not only those taken in */
	bool no_binaries; /* nobody asks for user stacks: what is mapped does not matter */
	bool inherit;     /* so are the children of those taken in */
	const struct filter *filter; /* which of all are of interest; NULL: every one */
	struct refused_pid *refused; /* PROCESS_N_REFUSED, once there is one */
	struct process *processes;
	uint64_t generation; /* of the tables that the snapshots name */
	struct packed_told packed;
	uint64_t looked;         /* when processes were last looked for that are gone */
	bool has_warned;         /* that there is no room for all snapshots */
	bool has_warned_of_file; /* that one cannot be opened for want of a capability */
};

void process_table_init(struct process_table *table, struct pool *pool,
			struct binary_store *binaries,
			int (*publish)(void *arg, pid_t pid, uint32_t cell), void *arg);
void process_table_done(struct process_table *table);

/*
 * Take in a running process with the mappings that it has now, and make its
 * tables. Returns 0, -ESRCH if there is no such process, -EACCES if its maps
 * may not be read, or another errno.
 */
int process_table_add(struct process_table *table, pid_t pid);

/* Take in a process that is about to execute a program: samples count from the exec on. */
int process_table_add_launched(struct process_table *table, pid_t pid);

struct process *process_table_find(const struct process_table *table, pid_t pid);

/*
 * A sample is of this process: take it in, unless it is known. The kernel has
 * found it wanted, but no record told of it: it has changed its user, name or
 * cgroup, or records were lost. Returns 1 if it is new, 0 if not, or if its
 * mappings cannot be read, which is tried again after a second; or -ENOMEM.
 */
int process_table_meet(struct process_table *table, pid_t pid, uint64_t now);

/*
 * What perf's records tell. Processes that are not in the table are of no
 * interest; a child of one that is, is.
 */
struct mmap_record {
	pid_t pid;
	uint64_t time, start, end, offset;
	uint64_t inode;
	const char *name;
};

int process_table_on_mmap(struct process_table *table, const struct mmap_record *record);
int process_table_on_fork(struct process_table *table, pid_t parent, pid_t child, uint64_t time);
void process_table_on_exec(struct process_table *table, pid_t pid, uint64_t time);
/* One of its threads has exited. Whether it was the last one is seen before it is forgotten. */
void process_table_on_exit(struct process_table *table, pid_t pid, uint64_t time);

/*
 * The walker found that a cookie differs, but nothing has changed since: have
 * the cookies read, which makes them resident, and give up those that cannot be.
 */
void process_table_check_cookies(struct process_table *table, struct process *process);

/*
 * The walker found other code in a process than the records tell of: a file
 * that was written to, or code that was moved. Have the mappings read again,
 * after a while, as it may not be finished yet.
 */
void process_table_doubt(struct process *process, uint64_t now);

/* Records were lost: read the mappings of every process again. */
void process_table_resync(struct process_table *table, uint64_t time);

/*
 * What workers have found out of binaries (binary_store_collect()) is true of their mappings
 * from when these came: to be published.
 */
void process_table_settle(struct process_table *table);

/* Is a binary pending that a process had mapped at a time? */
bool process_is_pending(const struct process *process, uint64_t time);

/* Make new snapshots for all processes that changed, and show them to the kernel. */
int process_table_publish(struct process_table *table, uint64_t now);

/*
 * Forget what nobody can ask for any more: snapshots that were replaced, and
 * processes that exited, before `before`.
 */
void process_table_forget(struct process_table *table, uint64_t before);

/* Is the binary's cookie another one in memory, where it can be read? */
bool process_cookie_differs(const struct process *process, const struct mapping *mapping);

/* The mapping that an address lay in at a time, or NULL. */
const struct mapping *process_find(const struct process *process, uint64_t address, uint64_t time);

/*
 * The mappings that a process had at a time, as a snapshot of the pool; for
 * samples that were walked before the kernel had them. It has no cookies: it is
 * true of that time whatever is in memory now. snapshot_free() ends it.
 */
int process_snapshot(struct process_table *table, const struct process *process, uint64_t time,
		     struct snapshot **ret);

#endif
