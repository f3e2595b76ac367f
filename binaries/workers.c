// SPDX-License-Identifier: Apache-2.0
#include "binaries/workers.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/signals.h"

STAILQ_HEAD(job_list, job);

struct workers {
	int fd; /* counts what there is to take */
	size_t max_jobs, n_jobs;
	pthread_mutex_t lock; /* of all that follows, but the threads */
	pthread_cond_t more;
	struct job_list queued, done;
	bool ends;
	size_t n_threads;
	pthread_t threads[];
};

static struct job *wait_for_job(struct workers *w)
{
	struct job *job;

	while (STAILQ_EMPTY(&w->queued) && !w->ends)
		pthread_cond_wait(&w->more, &w->lock);
	if (w->ends)
		return NULL;
	job = STAILQ_FIRST(&w->queued);
	STAILQ_REMOVE_HEAD(&w->queued, next);
	return job;
}

static void *worker_run(void *arg)
{
	struct workers *w = arg;
	struct job *job;

	pthread_mutex_lock(&w->lock);
	while ((job = wait_for_job(w)) != NULL) {
		pthread_mutex_unlock(&w->lock);
		job->run(job);
		pthread_mutex_lock(&w->lock);
		STAILQ_INSERT_TAIL(&w->done, job, next);
		(void)eventfd_write(w->fd, 1);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static int start_threads(struct workers *w, size_t n)
{
	sigset_t old;
	int err = 0;

	signals_block(&old);
	while (err == 0 && w->n_threads < n) {
		err = pthread_create(&w->threads[w->n_threads], NULL, worker_run, w);
		if (err == 0)
			pthread_setname_np(w->threads[w->n_threads++], "tables");
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	/* Fewer do as well. */
	return w->n_threads > 0 ? 0 : -err;
}

int workers_new(size_t n_threads, size_t max_jobs, struct workers **ret)
{
	struct workers *w = calloc(1, sizeof(*w) + n_threads * sizeof(w->threads[0]));
	int err;

	if (!w)
		return -ENOMEM;
	w->max_jobs = max_jobs;
	STAILQ_INIT(&w->queued);
	STAILQ_INIT(&w->done);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = w->fd < 0 ? -errno : start_threads(w, n_threads);
	if (err < 0)
		w = workers_free(w, NULL);
	*ret = w;
	return err;
}

static void drop_all(struct job_list *jobs, void (*drop)(struct job *job))
{
	struct job *job;

	while ((job = STAILQ_FIRST(jobs)) != NULL) {
		STAILQ_REMOVE_HEAD(jobs, next);
		drop(job);
	}
}

struct workers *workers_free(struct workers *w, void (*drop)(struct job *job))
{
	if (!w)
		return NULL;
	pthread_mutex_lock(&w->lock);
	w->ends = true;
	pthread_cond_broadcast(&w->more);
	pthread_mutex_unlock(&w->lock);
	for (size_t i = 0; i < w->n_threads; i++)
		pthread_join(w->threads[i], NULL);
	drop_all(&w->queued, drop);
	drop_all(&w->done, drop);
	if (w->fd >= 0)
		close(w->fd);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->more);
	free(w);
	return NULL;
}

int workers_add(struct workers *w, struct job *job)
{
	if (w->n_jobs >= w->max_jobs)
		return -EAGAIN;
	w->n_jobs++;
	pthread_mutex_lock(&w->lock);
	STAILQ_INSERT_TAIL(&w->queued, job, next);
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
	return 0;
}

struct job *workers_take(struct workers *w)
{
	eventfd_t n;
	struct job *job;

	pthread_mutex_lock(&w->lock);
	job = STAILQ_FIRST(&w->done);
	if (job)
		STAILQ_REMOVE_HEAD(&w->done, next);
	else
		(void)eventfd_read(w->fd, &n);
	pthread_mutex_unlock(&w->lock);
	w->n_jobs -= job != NULL;
	return job;
}

int workers_fd(const struct workers *w)
{
	return w->fd;
}

void workers_wait(const struct workers *w, int timeout_ms)
{
	struct pollfd fd = { .fd = w->fd, .events = POLLIN };

	(void)poll(&fd, 1, timeout_ms);
}
