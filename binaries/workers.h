/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_WORKERS_H
#define DP_BINARIES_WORKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/*
 * Threads that do what may take long or wait for a file, so that the one that reads the rings
 * need not. A job is lent to them as a whole: from workers_add() until workers_take() nobody else
 * may look at it, and it leads to nothing that others use meanwhile.
 *
 * A job may never end, because who has its file does not answer. One that has computed nothing for
 * WORKERS_HANG_NS counts as hanging: another thread is started in its place, and of its source, as a
 * file system is, no more jobs are begun than WORKERS_MAX_HANGING at a time.
 *
 * All functions are for the one thread that has made them.
 */
struct workers;

/* What a job has waited for so long may never come. */
#define WORKERS_HANG_NS UINT64_C(1000000000)
#define WORKERS_MAX_HANGING 2
/* Threads there may be at most, with those that hang. */
#define WORKERS_MAX 16
/* At the end, jobs that run are waited for no longer. */
#define WORKERS_END_NS UINT64_C(1000000000)

struct job {
	STAILQ_ENTRY(job) next; /* the workers' */
	/* What it may have to wait for: equal where it is the same, as a device is; 0: nothing. */
	uint64_t source;
	/* In a worker. What it has found out is in the job. */
	void (*run)(struct job *job);
	/* Free it, wherever it has come to. In any thread. */
	void (*drop)(struct job *job);
};

/*
 * Start so many threads, at most WORKERS_MAX, which begin no further jobs while max_done of them are
 * done and were not taken. 0 or a negative errno.
 */
int workers_new(size_t n_threads, size_t max_done, struct workers **ret);

/*
 * Wait for those jobs that run by now, for WORKERS_END_NS at most, and end the threads. Jobs that
 * were not taken are dropped, whether they were run or not: what is not done by then is left to its
 * thread, which drops it when it is. NULL is nothing. Returns NULL.
 */
struct workers *workers_free(struct workers *workers);

/*
 * Jobs are begun in the order in which they were added, but those whose source does not answer; one
 * that is urgent before all others.
 */
void workers_add(struct workers *workers, struct job *job, bool is_urgent);

/*
 * One that was run, in the order in which they ended; NULL: there is none by now. Where jobs hang,
 * others get threads here: to be called several times a second while there are jobs.
 */
struct job *workers_take(struct workers *workers);

/* A descriptor that can be read when there may be a job to take. It is the workers'. */
int workers_fd(const struct workers *workers);

/* Wait for at most so many milliseconds until there may be a job to take. */
void workers_wait(const struct workers *workers, int timeout_ms);

#endif
