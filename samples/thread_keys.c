// SPDX-License-Identifier: Apache-2.0
#include "samples/thread_keys.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/cond.h"
#include "base/hash.h"
#include "base/signals.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "process/context_reader.h"
#include "sandbox/fetchers.h"
#include "sandbox/list_fetchers.h"
#include "sandbox/parsers.h"

/* How long a process is not looked at again, at first, and if it has a key that was not known then. */
#define FIRST_REST_NS UINT64_C(1000000000)
#define UNKNOWN_REST_NS UINT64_C(5000000000)

struct program_key {
	struct program_place place;
	int64_t pid; /* as wide, so that the key has no padding */
};

/* A program that a process executes. Of the thread that asks. */
struct program {
	UT_hash_handle hh;
	struct program_key key;
	struct process_context *context; /* owned, of process_context_size(); NULL: not known */
	uint64_t published_ns;           /* when it was published */
	uint64_t asked_ns;               /* when it was last to be read, */
	uint64_t next_ns, rest_ns;       /* is to be again, and after that */
	bool is_waiting;
	bool is_sampled;
};

/* What is to be read, and has been. */
struct job {
	STAILQ_ENTRY(job) next;
	struct program_key key;
	uint64_t published_ns;           /* that is known, and then that has been read */
	struct process_context *context; /* NULL: the same as before, or it cannot be read */
};

STAILQ_HEAD(job_list, job);

struct thread_keys {
	struct program *programs;
	size_t n_bytes; /* of their contexts */
	size_t n_waiting;
	/* The thread's; NULL: there is none */
	struct list_fetchers *lists;
	struct fetchers *fetchers;
	struct parsers *parsers;
	pthread_t thread;
	bool is_started, is_capable;
	pthread_mutex_t lock; /* protects what follows; held only briefly */
	pthread_cond_t changed;
	struct job_list waiting, done;
	bool ends, has_ended;
	bool is_left; /* the thread frees all this at its end */
};

int thread_keys_new(struct parsers *parsers, bool is_capable, struct thread_keys **ret)
{
	struct thread_keys *k = calloc(1, sizeof(*k));

	*ret = k;
	if (!k)
		return -ENOMEM;
	k->parsers = parsers_hold(parsers);
	if (parsers && is_capable)
		(void)fetchers_new(parsers, &k->fetchers);
	k->is_capable = parsers && is_capable;
	STAILQ_INIT(&k->waiting);
	STAILQ_INIT(&k->done);
	pthread_mutex_init(&k->lock, NULL);
	cond_init_monotonic(&k->changed);
	return 0;
}

static void forget_all(struct thread_keys *k)
{
	struct program *p, *next;

	HASH_ITER(hh, k->programs, p, next) {
		HASH_DEL(k->programs, p);
		free(p->context);
		free(p);
	}
	k->n_bytes = 0;
}

static void drop_jobs(struct job_list *jobs)
{
	struct job *j;

	while ((j = STAILQ_FIRST(jobs)) != NULL) {
		STAILQ_REMOVE_HEAD(jobs, next);
		free(j->context);
		free(j);
	}
}

/* By the last thread that uses it. */
static void destroy(struct thread_keys *k)
{
	drop_jobs(&k->waiting);
	drop_jobs(&k->done);
	forget_all(k);
	list_fetchers_free(k->lists);
	fetchers_free(k->fetchers);
	parsers_drop(k->parsers);
	pthread_mutex_destroy(&k->lock);
	pthread_cond_destroy(&k->changed);
	free(k);
}

/* Whether the thread, if it has been started, ends in time. The lock is held. */
static bool await_end(struct thread_keys *k)
{
	const uint64_t until = clock_now_ns() + THREAD_KEYS_PATIENCE_NS;
	int err = 0;

	while (k->is_started && !k->has_ended && err == 0)
		err = cond_wait_until(&k->changed, &k->lock, until);
	return !k->is_started || k->has_ended;
}

struct thread_keys *thread_keys_free(struct thread_keys *k)
{
	bool has_ended;

	if (!k)
		return NULL;
	pthread_mutex_lock(&k->lock);
	k->ends = true;
	pthread_cond_broadcast(&k->changed);
	has_ended = await_end(k);
	if (!has_ended)
		pthread_detach(k->thread);
	k->is_left = !has_ended;
	pthread_mutex_unlock(&k->lock);
	if (!has_ended)
		return NULL;
	if (k->is_started)
		pthread_join(k->thread, NULL);
	destroy(k);
	return NULL;
}

/* The lock is held. NULL: the thread ends. */
static struct job *wait_for_job(struct thread_keys *k)
{
	struct job *j;

	while (STAILQ_EMPTY(&k->waiting) && !k->ends)
		pthread_cond_wait(&k->changed, &k->lock);
	if (k->ends)
		return NULL;
	j = STAILQ_FIRST(&k->waiting);
	STAILQ_REMOVE_HEAD(&k->waiting, next);
	return j;
}

static void *run(void *arg)
{
	struct thread_keys *k = arg;
	struct job *j;
	bool is_left;

	if (k->is_capable)
		(void)list_fetchers_new(k->parsers, &k->lists);
	pthread_mutex_lock(&k->lock);
	while ((j = wait_for_job(k)) != NULL) {
		pthread_mutex_unlock(&k->lock);
		(void)context_reader_read(k->lists, k->fetchers, k->parsers, (pid_t)j->key.pid,
					  &j->published_ns, &j->context);
		pthread_mutex_lock(&k->lock);
		STAILQ_INSERT_TAIL(&k->done, j, next);
	}
	k->has_ended = true;
	is_left = k->is_left;
	pthread_cond_broadcast(&k->changed);
	pthread_mutex_unlock(&k->lock);
	if (is_left)
		destroy(k);
	return NULL;
}

static bool start_thread(struct thread_keys *k)
{
	sigset_t old;

	if (k->is_started)
		return true;
	signals_block(&old);
	k->is_started = pthread_create(&k->thread, NULL, run, k) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (k->is_started)
		pthread_setname_np(k->thread, "thread-keys");
	return k->is_started;
}

/* Few have all keys: gives the room of the others back. */
static struct process_context *trim(struct process_context *context)
{
	const size_t size = process_context_size(context);
	void *less = malloc(size);

	if (!less)
		return context;
	memcpy(less, context, size);
	free(context);
	return less;
}

/* What cannot be read now keeps what is known. */
static void keep(struct thread_keys *k, struct job *j)
{
	struct program *p;

	k->n_waiting--;
	HASH_FIND(hh, k->programs, &j->key, sizeof(j->key), p);
	if (!p)
		return;
	p->is_waiting = false;
	if (!j->context)
		return;
	k->n_bytes -= p->context ? process_context_size(p->context) : 0;
	free(p->context);
	p->context = trim(steal_ptr(j->context));
	p->published_ns = j->published_ns;
	k->n_bytes += process_context_size(p->context);
}

static void take_done(struct thread_keys *k)
{
	struct job_list done = STAILQ_HEAD_INITIALIZER(done);
	struct job *j;

	if (k->n_waiting == 0)
		return;
	pthread_mutex_lock(&k->lock);
	STAILQ_CONCAT(&done, &k->done);
	pthread_mutex_unlock(&k->lock);
	while ((j = STAILQ_FIRST(&done)) != NULL) {
		STAILQ_REMOVE_HEAD(&done, next);
		keep(k, j);
		free(j->context);
		free(j);
	}
}

/* NULL: memory is short. */
static struct program *find_program(struct thread_keys *k, const struct program_key *key)
{
	struct program *p;

	HASH_FIND(hh, k->programs, key, sizeof(*key), p);
	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->key = *key;
	p->rest_ns = FIRST_REST_NS;
	HASH_ADD(hh, k->programs, key, sizeof(p->key), p);
	if (HASH_IS_ADDED(hh, p))
		return p;
	free(p);
	return NULL;
}

static void ask(struct thread_keys *k, struct program *p, uint64_t now)
{
	struct job *j;

	if (k->n_waiting >= THREAD_KEYS_MAX_WAITING || !start_thread(k))
		return;
	j = calloc(1, sizeof(*j));
	if (!j)
		return;
	j->key = p->key;
	j->published_ns = p->published_ns;
	p->is_waiting = true;
	p->asked_ns = now;
	p->next_ns = now + p->rest_ns;
	p->rest_ns = 2 * p->rest_ns < THREAD_KEYS_REST_NS ? 2 * p->rest_ns : THREAD_KEYS_REST_NS;
	k->n_waiting++;
	pthread_mutex_lock(&k->lock);
	STAILQ_INSERT_TAIL(&k->waiting, j, next);
	pthread_cond_broadcast(&k->changed);
	pthread_mutex_unlock(&k->lock);
}

/*
 * Asks for what it says of itself if it is time to. Many programs are sampled once and end: unless a key's
 * name is needed, what they say would come too late. NULL: memory is short.
 */
static struct program *look_at(struct thread_keys *k, pid_t pid, struct program_place place,
			       uint64_t now, bool has_key)
{
	const struct program_key key = { place, pid };
	struct program *p;

	if (!k)
		return NULL;
	if (HASH_COUNT(k->programs) > THREAD_KEYS_MAX_PROGRAMS ||
	    k->n_bytes > THREAD_KEYS_MAX_BYTES)
		forget_all(k);
	take_done(k);
	p = find_program(k, &key);
	if (p && !p->is_waiting && now >= p->next_ns && (has_key || p->is_sampled))
		ask(k, p, now);
	if (p)
		p->is_sampled = true;
	return p;
}

int thread_keys_find(struct thread_keys *k, pid_t pid, struct program_place place, uint8_t number,
		     uint64_t now, const char **ret)
{
	struct program *p = look_at(k, pid, place, now, true);

	*ret = NULL;
	if (!p || !p->context)
		return -EAGAIN;
	if (number < p->context->n_keys) {
		if (p->context->keys[number][0] == '\0')
			return -EAGAIN;
		*ret = p->context->keys[number];
		return 0;
	}
	/* It may be new: until its context has been read again, nobody knows. */
	if (!p->is_waiting && now >= p->asked_ns + UNKNOWN_REST_NS)
		ask(k, p, now);
	return p->is_waiting ? -EAGAIN : -ENOENT;
}

const struct process_context *thread_keys_process(struct thread_keys *k, pid_t pid,
						  struct program_place place, uint64_t now)
{
	const struct program *p = look_at(k, pid, place, now, false);

	return p ? p->context : NULL;
}
