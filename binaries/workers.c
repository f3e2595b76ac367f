// SPDX-License-Identifier: Apache-2.0
#include "binaries/workers.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cond.h"
#include "base/signals.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "sandbox/cpu_budget.h"

STAILQ_HEAD(job_list, job);

struct worker {
	struct workers *all;
	pthread_t thread;
	bool is_started; /* and not joined yet */
	bool has_ended;
	struct job *job;     /* the one that it runs; NULL: none */
	uint64_t cpu_ns;     /* the thread's CPU time when last checked */
	uint64_t stopped_ns; /* the CPU time has not changed since */
	bool hangs;
};

/* If jobs still hang at workers_free(), the last thread frees it. */
struct workers {
	int fd; /* an eventfd: readable when a job can be taken */
	size_t max_done;
	size_t n_wanted;      /* number of threads that do not hang */
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t more, gone;
	struct job_list queued, done;
	size_t n_done;
	bool ends, is_left;
	struct cpu_budget *budget; /* NULL: no limit */
	size_t n_alive, n_hanging;
	struct worker workers[WORKERS_MAX];
};

/* If a job of a source hangs, its other running jobs may be about to hang. */
static bool may_begin(const struct workers *w, const struct job *job)
{
	bool hangs = false;
	size_t n = 0;

	if (job->source == 0 || w->n_hanging == 0)
		return true;
	for (size_t i = 0; i < WORKERS_MAX; i++) {
		const struct worker *worker = &w->workers[i];

		if (!worker->job || worker->job->source != job->source)
			continue;
		n++;
		hangs |= worker->hangs;
	}
	return !hangs || n < WORKERS_MAX_HANGING;
}

/* *ret_pause: when there may be one again, as their users' budget is used up; 0: that is not why. */
static struct job *next_job(const struct workers *w, uint64_t *ret_pause)
{
	const struct job *refused = NULL;
	struct job *job;

	*ret_pause = 0;
	if (w->n_done >= w->max_done)
		return NULL;
	STAILQ_FOREACH(job, &w->queued, next)
	{
		uint64_t pause;

		/* One user has many of them. */
		if (!may_begin(w, job) || (refused && refused->user == job->user))
			continue;
		pause = cpu_budget_pause_ns(w->budget, job->user);
		if (pause == 0)
			return job;
		if (!refused || pause < *ret_pause)
			*ret_pause = pause;
		refused = job;
	}
	return NULL;
}

/* A hanging thread was replaced and has resumed since. */
static bool is_one_too_many(const struct workers *w)
{
	return w->n_alive - w->n_hanging > w->n_wanted;
}

/* For a job, or the budget for one. */
static void wait_for_more(struct workers *w, uint64_t pause)
{
	if (pause > 0)
		(void)cond_wait_until(&w->more, &w->lock, clock_now_ns() + pause);
	else
		pthread_cond_wait(&w->more, &w->lock);
}

static struct job *wait_for_job(struct workers *w)
{
	struct job *job = NULL;
	uint64_t pause;

	while (!w->ends && !is_one_too_many(w) && !(job = next_job(w, &pause)))
		wait_for_more(w, pause);
	if (job)
		STAILQ_REMOVE(&w->queued, job, job, next);
	return job;
}

static void begin_job(struct worker *worker, struct job *job)
{
	worker->job = job;
	job->ends = &worker->all->ends;
	worker->stopped_ns = clock_now_ns();
}

static void set_hanging(struct worker *worker, bool hangs)
{
	struct workers *w = worker->all;

	if (worker->hangs == hangs)
		return;
	worker->hangs = hangs;
	w->n_hanging += hangs ? 1 : -1;
	if (!hangs) /* other jobs of its source may begin */
		pthread_cond_broadcast(&w->more);
}

static void workers_destroy(struct workers *w)
{
	if (w->fd >= 0)
		close(w->fd);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->more);
	pthread_cond_destroy(&w->gone);
	free(w);
}

static void run_job(struct worker *worker, struct job *job)
{
	struct workers *w = worker->all;
	uint64_t began = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	bool is_left;

	begin_job(worker, job);
	pthread_mutex_unlock(&w->lock);
	job->run(job);
	pthread_mutex_lock(&w->lock);
	if (!w->is_left) /* the budget may be gone with the workers' owner */
		cpu_budget_spend(w->budget, job->user,
				 clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - began);
	set_hanging(worker, false);
	worker->job = NULL;
	job->ends = NULL;
	is_left = w->is_left;
	if (!is_left) {
		STAILQ_INSERT_TAIL(&w->done, job, next);
		w->n_done++;
		(void)eventfd_write(w->fd, 1);
		return;
	}
	pthread_mutex_unlock(&w->lock);
	job->drop(job);
	pthread_mutex_lock(&w->lock);
}

static void *worker_run(void *arg)
{
	struct worker *worker = arg;
	struct workers *w = worker->all;
	struct job *job;
	bool is_last;

	pthread_mutex_lock(&w->lock);
	while ((job = wait_for_job(w)) != NULL)
		run_job(worker, job);
	worker->has_ended = true;
	w->n_alive--;
	is_last = w->is_left && w->n_alive == 0;
	pthread_cond_signal(&w->gone);
	pthread_mutex_unlock(&w->lock);
	if (is_last)
		workers_destroy(w);
	return NULL;
}

static int start_thread(struct worker *worker)
{
	sigset_t old;
	int err;

	signals_block(&old);
	worker->has_ended = false;
	err = pthread_create(&worker->thread, NULL, worker_run, worker);
	if (err == 0)
		pthread_setname_np(worker->thread, "tables");
	worker->is_started = err == 0;
	worker->all->n_alive += err == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

/* Starts a thread in a free slot; -EAGAIN if there is none. The lock is held. */
static int start_one(struct workers *w)
{
	for (size_t i = 0; i < WORKERS_MAX; i++) {
		struct worker *worker = &w->workers[i];

		if (worker->is_started && !worker->has_ended)
			continue;
		if (worker->is_started)
			pthread_join(worker->thread, NULL);
		return start_thread(worker);
	}
	return -EAGAIN;
}

static int start_threads(struct workers *w, size_t n)
{
	int err = 0;

	pthread_mutex_lock(&w->lock);
	while (err == 0 && w->n_alive < n)
		err = start_one(w);
	/* Fewer threads suffice. */
	w->n_wanted = w->n_alive;
	pthread_mutex_unlock(&w->lock);
	return w->n_wanted > 0 ? 0 : err;
}

int workers_new(size_t n_threads, size_t max_done, struct workers **ret)
{
	struct workers *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->max_done = max_done;
	/* No thread may end as superfluous while others are still being started. */
	w->n_wanted = WORKERS_MAX;
	STAILQ_INIT(&w->queued);
	STAILQ_INIT(&w->done);
	pthread_mutex_init(&w->lock, NULL);
	cond_init_monotonic(&w->more);
	cond_init_monotonic(&w->gone);
	for (size_t i = 0; i < WORKERS_MAX; i++)
		w->workers[i].all = w;
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = w->fd < 0 ? -errno : start_threads(w, n_threads);
	if (err < 0)
		w = workers_free(w);
	*ret = w;
	return err;
}

void workers_set_budget(struct workers *w, struct cpu_budget *budget)
{
	pthread_mutex_lock(&w->lock);
	w->budget = budget;
	pthread_mutex_unlock(&w->lock);
}

static void drop_all(struct job_list *jobs)
{
	struct job *job;

	while ((job = STAILQ_FIRST(jobs)) != NULL) {
		STAILQ_REMOVE_HEAD(jobs, next);
		job->drop(job);
	}
}

/* The lock is held. */
static void wait_for_end(struct workers *w)
{
	uint64_t end_ns = clock_now_ns() + WORKERS_END_NS;
	int err = 0;

	while (w->n_alive > 0 && err == 0)
		err = cond_wait_until(&w->gone, &w->lock, end_ns);
}

struct workers *workers_free(struct workers *w)
{
	struct job_list jobs = STAILQ_HEAD_INITIALIZER(jobs);
	bool is_left;

	if (!w)
		return NULL;
	pthread_mutex_lock(&w->lock);
	__atomic_store_n(&w->ends, true, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&w->more);
	wait_for_end(w);
	for (size_t i = 0; i < WORKERS_MAX; i++) {
		struct worker *worker = &w->workers[i];

		/* It has released the lock and is about to return. */
		if (worker->is_started && worker->has_ended)
			pthread_join(worker->thread, NULL);
		else if (worker->is_started)
			pthread_detach(worker->thread);
	}
	STAILQ_CONCAT(&jobs, &w->queued);
	STAILQ_CONCAT(&jobs, &w->done);
	is_left = w->is_left = w->n_alive > 0;
	pthread_mutex_unlock(&w->lock);
	if (!is_left)
		workers_destroy(w);
	drop_all(&jobs);
	return NULL;
}

void workers_add(struct workers *w, struct job *job, bool is_urgent)
{
	pthread_mutex_lock(&w->lock);
	if (is_urgent)
		STAILQ_INSERT_HEAD(&w->queued, job, next);
	else
		STAILQ_INSERT_TAIL(&w->queued, job, next);
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
}

/* A thread that uses CPU time, however little, has received answers. */
static void look_at(struct worker *worker, uint64_t now)
{
	clockid_t clock = worker->job ? __atomic_load_n(&worker->job->clock, __ATOMIC_RELAXED) : 0;
	uint64_t cpu_ns;

	if (!worker->job || (clock == 0 && pthread_getcpuclockid(worker->thread, &clock) != 0))
		return;
	cpu_ns = clock_read_ns(clock);
	if (cpu_ns != worker->cpu_ns)
		worker->stopped_ns = now;
	worker->cpu_ns = cpu_ns;
	set_hanging(worker, now > worker->stopped_ns + WORKERS_HANG_NS);
}

void workers_look(struct workers *w)
{
	uint64_t now = clock_now_ns(), pause;

	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < WORKERS_MAX; i++)
		look_at(&w->workers[i], now);
	while (w->n_alive - w->n_hanging < w->n_wanted && next_job(w, &pause))
		if (start_one(w) < 0)
			break;
	pthread_mutex_unlock(&w->lock);
}

struct job *workers_take(struct workers *w)
{
	eventfd_t n;
	struct job *job;

	pthread_mutex_lock(&w->lock);
	job = STAILQ_FIRST(&w->done);
	if (job) {
		STAILQ_REMOVE_HEAD(&w->done, next);
		if (w->n_done-- >= w->max_done)
			pthread_cond_broadcast(&w->more);
	} else {
		(void)eventfd_read(w->fd, &n);
	}
	pthread_mutex_unlock(&w->lock);
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
