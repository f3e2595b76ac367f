/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_WORKERS_H
#define DP_BINARIES_WORKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <time.h>

/*
 * Threads for work that may take long or wait for a file, so that the thread that reads the rings
 * does not have to. A job is handed over as a whole: from workers_add() until workers_take() nobody
 * else may access it, and it must not refer to anything that others use in the meantime.
 *
 * A job may never end if a file system does not answer. One that has used no CPU time for
 * WORKERS_HANG_NS counts as hanging. Another thread then takes its place, and no further job of its
 * source (such as a file system) begins while WORKERS_MAX_HANGING of them are running.
 *
 * All functions must be called from the thread that created the workers.
 */
struct cpu_budget;
struct workers;

struct job {
	STAILQ_ENTRY(job) next; /* for the workers */
	/*
	 * What the job may have to wait for, such as a device; equal for the same one. 0: nothing.
	 */
	uint64_t source;
	uid_t user; /* whose processes it is for, who pays */
	/*
	 * The CPU-time clock of another process that the job waits for, and that stands for it
	 * meanwhile; 0: none. Set by the job, atomically.
	 */
	clockid_t clock;
	/* While it runs: set, atomically, once nobody waits for its results; NULL: somebody does. */
	const bool *ends;
	/* Runs in a worker. Leaves its results in the job. */
	void (*run)(struct job *job);
	/* Frees the job at any stage. Runs in any thread. */
	void (*drop)(struct job *job);
};

/*
 * Starts n_threads threads, at most WORKERS_MAX. They begin no further job while max_done finished
 * ones have not been taken. 0 or a negative errno.
 */
int workers_new(size_t n_threads, size_t max_done, struct workers **ret);

/* Jobs wait for this budget, each for its user's part, and spend from it; the caller keeps it. */
void workers_set_budget(struct workers *workers, struct cpu_budget *budget);

/*
 * Waits for running jobs for up to WORKERS_END_NS and ends the threads. Drops jobs that have not
 * been taken, finished or not. A job that still runs is left to its thread, which drops it at its
 * end. NULL is allowed. Returns NULL.
 */
struct workers *workers_free(struct workers *workers);

/*
 * Queues a job; an urgent one goes first. Jobs begin in this order, except those whose source does
 * not answer, or whose user has to pay first.
 */
void workers_add(struct workers *workers, struct job *job, bool is_urgent);

/* Returns a finished job, in the order in which they finished; NULL: there is none now. */
struct job *workers_take(struct workers *workers);

/*
 * Finds out which jobs hang, and starts a thread for each while there is work. To be called several times a
 * second while there are jobs.
 */
void workers_look(struct workers *workers);

/* A descriptor that is readable when there may be a job to take. The workers keep it. */
int workers_fd(const struct workers *workers);

/* Waits for at most timeout_ms until there may be a job to take. */
void workers_wait(const struct workers *workers, int timeout_ms);

#endif
