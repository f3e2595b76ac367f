/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_WORKERS_H
#define DP_BINARIES_WORKERS_H

#include <stddef.h>
#include <sys/queue.h>

/*
 * Threads that do what may take long or wait for a file, so that the one that reads the rings
 * need not. A job is lent to them as a whole: from workers_add() until workers_take() nobody else
 * may look at it, and it leads to nothing that others use meanwhile.
 *
 * All functions are for the one thread that has made them.
 */
struct workers;

struct job {
	STAILQ_ENTRY(job) next; /* the workers' */
	/* In a worker. What it has found out is in the job. */
	void (*run)(struct job *job);
};

/*
 * Start so many threads, which may have max_jobs between them: those that wait, run, or are done
 * and were not taken yet. 0 or a negative errno.
 */
int workers_new(size_t n_threads, size_t max_jobs, struct workers **ret);

/*
 * Wait for those jobs that run by now, and end the threads. Jobs that were not taken are passed to
 * drop(), whether they were run or not. NULL is nothing. Returns NULL.
 */
struct workers *workers_free(struct workers *workers, void (*drop)(struct job *job));

/* Jobs are begun in the order in which they were added. 0, or -EAGAIN: there are too many. */
int workers_add(struct workers *workers, struct job *job);

/* One that was run, in the order in which they ended; NULL: there is none by now. */
struct job *workers_take(struct workers *workers);

/* A descriptor that can be read when there may be a job to take. It is the workers'. */
int workers_fd(const struct workers *workers);

/* Wait for at most so many milliseconds until there may be a job to take. */
void workers_wait(const struct workers *workers, int timeout_ms);

#endif
