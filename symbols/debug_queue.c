// SPDX-License-Identifier: Apache-2.0
#include "symbols/debug_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/cond.h"
#include "base/signals.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "symbols/debug_cache.h"
#include "symbols/debug_library.h"
#include "symbols/names.h"

/* Between looks at the disk, and files that no server has between looks at all of these. */
#define LOOK_NS UINT64_C(100000000)
#define LOOK_ABSENT 64

enum state { WAITS, FOUND, ABSENT };

struct request {
	enum state state;
	unsigned int n_failures;
	uint64_t answered_ns;
	char *path; /* FOUND */
	size_t size;
	unsigned char build_id[];
};

struct debug_queue {
	struct debug_queue_limits limits;
	atomic_bool ends;
	const char *directory; /* the thread's; NULL: libdebuginfod knows */
	unsigned int n_absent; /* the thread's */
	pthread_mutex_t lock;  /* protects what follows */
	pthread_cond_t changed;
	unsigned int n_users;
	bool has_ended;            /* the thread */
	const struct names *names; /* until `ends` */
	struct request **list;     /* request number i is at i - n_forgotten - 1 */
	size_t n, size;
	uint32_t n_forgotten;
	unsigned int n_refused; /* requests in succession that no server has answered */
	uint64_t rests_until_ns;
	struct debug_server_totals totals;
};

static void forget(struct debug_queue *q, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(q->list[i]->path);
		free(q->list[i]);
	}
	q->n_forgotten += (uint32_t)n;
	q->n -= n;
	for (size_t i = 0; i < q->n; i++)
		q->list[i] = q->list[n + i];
}

/* Called with the lock, which it releases. */
static void drop(struct debug_queue *q)
{
	bool is_last = --q->n_users == 0;

	pthread_mutex_unlock(&q->lock);
	if (!is_last)
		return;
	forget(q, q->n);
	free(q->list);
	if (q->limits.drop)
		q->limits.drop(q->limits.arg);
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

/* NULL: it was forgotten. */
static struct request *by_number(const struct debug_queue *q, uint32_t number)
{
	size_t i = number - q->n_forgotten - 1;

	return number > q->n_forgotten && i < q->n ? q->list[i] : NULL;
}

/* Its number; 0: there is none. */
static uint32_t find(const struct debug_queue *q, const unsigned char *build_id, size_t size)
{
	for (size_t i = 0; i < q->n; i++)
		if (q->list[i]->size == size && memcmp(q->list[i]->build_id, build_id, size) == 0)
			return q->n_forgotten + 1 + (uint32_t)i;
	return 0;
}

/* 0: memory is short. */
static uint32_t add(struct debug_queue *q, const unsigned char *build_id, size_t size)
{
	struct request *r;

	if (q->n == DEBUG_QUEUE_MAX)
		forget(q, 1);
	r = calloc(1, sizeof(*r) + size);
	if (!r || array_reserve(q->list, q->n, q->size) < 0) {
		free(r);
		return 0;
	}
	r->size = size;
	memcpy(r->build_id, build_id, size);
	q->list[q->n++] = r;
	q->totals.n_asked++;
	return q->n_forgotten + (uint32_t)q->n;
}

static void ask_again(struct request *r)
{
	free(r->path);
	*r = (struct request){ .state = WAITS, .size = r->size };
}

/* That it was is forgotten in time. */
static bool is_absent(const struct debug_queue *q, const struct request *r)
{
	return r->state == ABSENT && clock_now_ns() - r->answered_ns < q->limits.absent_ns;
}

int debug_queue_fetch(struct debug_queue *q, const unsigned char *build_id, size_t size,
		      uint32_t *awaited)
{
	struct request *r;
	uint32_t number;
	int fd = -1;

	if (size == 0 || size >= DEBUG_LIBRARY_ID_SIZE)
		return -1;
	pthread_mutex_lock(&q->lock);
	number = find(q, build_id, size);
	if (number == 0)
		number = add(q, build_id, size);
	r = by_number(q, number);
	if (r && r->state == FOUND) {
		fd = open(r->path, O_RDONLY | O_CLOEXEC);
		if (fd < 0) /* it was removed from the disk */
			ask_again(r);
		else
			debug_cache_touch(fd);
	} else if (r && r->state == ABSENT && !is_absent(q, r)) {
		ask_again(r);
	}
	if (r && r->state == WAITS)
		pthread_cond_broadcast(&q->changed);
	if (r && r->state != FOUND && awaited)
		*awaited = number;
	pthread_mutex_unlock(&q->lock);
	return fd;
}

bool debug_queue_is_awaited(struct debug_queue *q, uint32_t number)
{
	const struct request *r;
	bool waits;

	pthread_mutex_lock(&q->lock);
	r = by_number(q, number);
	waits = r && (r->state == WAITS || is_absent(q, r));
	pthread_mutex_unlock(&q->lock);
	return waits;
}

struct debug_server_totals debug_queue_totals(struct debug_queue *q)
{
	struct debug_server_totals totals;

	pthread_mutex_lock(&q->lock);
	totals = q->totals;
	pthread_mutex_unlock(&q->lock);
	return totals;
}

/* Those that have failed come last. */
static uint32_t next(const struct debug_queue *q)
{
	uint32_t best = 0;
	unsigned int least = DEBUG_QUEUE_ATTEMPTS;

	for (size_t i = 0; i < q->n; i++) {
		if (q->list[i]->state != WAITS || q->list[i]->n_failures >= least)
			continue;
		least = q->list[i]->n_failures;
		best = q->n_forgotten + 1 + (uint32_t)i;
	}
	return best;
}

static uint64_t rest_ns(const struct debug_queue *q, uint64_t now)
{
	uint64_t pause = q->limits.pause_ns ? q->limits.pause_ns(q->limits.arg) : 0;

	return now < q->rests_until_ns ? q->rests_until_ns - now : pause;
}

static void wait_for_change(struct debug_queue *q, uint64_t until_ns)
{
	if (until_ns == UINT64_MAX)
		pthread_cond_wait(&q->changed, &q->lock);
	else
		(void)cond_wait_until(&q->changed, &q->lock, until_ns);
}

/* What a server has answered is no failure. */
static void note_servers(struct debug_queue *q, int err, uint64_t now)
{
	uint64_t rest = DEBUG_QUEUE_REST_NS;

	q->totals.server_err = err;
	if (err == 0) {
		q->n_refused = 0;
		return;
	}
	for (unsigned int i = 0; i < q->n_refused && rest < DEBUG_QUEUE_MAX_REST_NS; i++)
		rest *= 2;
	if (rest > DEBUG_QUEUE_MAX_REST_NS)
		rest = DEBUG_QUEUE_MAX_REST_NS;
	q->rests_until_ns = now + rest;
	q->n_refused++;
}

/* Others are of the file, this machine's disk, or how it is set up. */
static bool is_servers(int err)
{
	switch (-err) {
	case ECONNREFUSED:
	case ECONNRESET:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case ETIME:
	case ETIMEDOUT:
		return true;
	}
	return false;
}

/* Called with the lock. Takes over the path. */
static void note(struct debug_queue *q, uint32_t number, int err, char *path)
{
	struct debug_queue_counts *counts = q->limits.counts;
	uint64_t now = clock_now_ns();
	struct request *r = by_number(q, number);
	bool is_answered = err == 0 || err == -ENOENT || err == -EFBIG;

	if (is_answered || is_servers(err))
		note_servers(q, is_answered ? 0 : err, now);
	else
		q->totals.file_err = err;
	q->totals.n_found += err == 0;
	atomic_fetch_add(err == 0    ? &counts->found :
			 is_answered ? &counts->absent :
				       &counts->failed,
			 1);
	if (!r) {
		free(path);
		return;
	}
	r->answered_ns = now;
	r->path = path;
	if (err == 0)
		r->state = FOUND;
	else if (!is_servers(err) || ++r->n_failures == DEBUG_QUEUE_ATTEMPTS)
		r->state = ABSENT;
}

struct attempt {
	const struct debug_queue *queue;
	const unsigned char *build_id;
	size_t size;
	uint64_t end_ns, look_ns;
	int err; /* why it was given up */
};

/* What is sent may be compressed: then more is on the disk. */
static bool is_too_large(struct attempt *a, uint64_t done, uint64_t now)
{
	const struct debug_queue *q = a->queue;

	if (done <= q->limits.max_size && q->directory && now >= a->look_ns) {
		a->look_ns = now + LOOK_NS;
		done = debug_cache_size(q->directory, a->build_id, a->size);
	}
	return done > q->limits.max_size;
}

static bool goes_on(void *arg, long done)
{
	struct attempt *a = arg;
	uint64_t now = clock_now_ns();

	if (is_too_large(a, done > 0 ? (uint64_t)done : 0, now))
		a->err = -EFBIG;
	else if (atomic_load(&a->queue->ends))
		a->err = -ECANCELED;
	else if (now >= a->end_ns)
		a->err = -ETIMEDOUT;
	return a->err == 0;
}

static int keep(const struct debug_queue *q, int fd, const char *path)
{
	struct stat st;
	int err = fstat(fd, &st) < 0 ? -errno : 0;

	if (err == 0 && (uint64_t)st.st_size > q->limits.max_size) {
		err = -EFBIG;
		(void)unlink(path);
	}
	debug_cache_touch(fd);
	close(fd);
	if (err == 0)
		debug_cache_limit(path, q->limits.max_kept);
	return err;
}

/* For libdebuginfod, who gives up is answered that no server has the file. */
static int give_up(const struct attempt *a)
{
	if (a->queue->directory)
		debug_cache_forget_absent(a->queue->directory, a->build_id, a->size);
	return a->err;
}

static int ask(struct debug_queue *q, const unsigned char *build_id, size_t size, char **ret_path)
{
	struct attempt a = {
		.queue = q,
		.build_id = build_id,
		.size = size,
		.end_ns = clock_now_ns() + q->limits.request_ns,
	};
	_cleanup_free_ char *path = NULL;
	int fd = debug_library_find(build_id, size, goes_on, &a, &path), err = fd;

	if (fd >= 0)
		err = keep(q, fd, path);
	else if (a.err < 0)
		err = give_up(&a);
	if (err == 0)
		*ret_path = steal_ptr(path);
	if (err == -ENOENT && q->directory && q->n_absent++ % LOOK_ABSENT == 0)
		debug_cache_forget_old(q->directory);
	return err;
}

/* Called with the lock, which it releases meanwhile. */
static void send_request(struct debug_queue *q, uint32_t number)
{
	const struct request *r = by_number(q, number);
	unsigned char build_id[DEBUG_LIBRARY_ID_SIZE];
	size_t size = r->size;
	uint64_t began = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	char *path = NULL;
	int err;

	memcpy(build_id, r->build_id, size);
	pthread_mutex_unlock(&q->lock);
	err = ask(q, build_id, size, &path);
	if (q->limits.spend)
		q->limits.spend(q->limits.arg, clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - began);
	pthread_mutex_lock(&q->lock);
	if (atomic_load(&q->ends))
		free(path);
	else
		note(q, number, err, path);
}

/* Why no server can be asked; NULL: one can. */
static const char *begin(struct debug_queue *q)
{
	q->directory = getenv("DEBUGINFOD_CACHE_PATH");
	if (q->directory && debug_cache_make(q->directory) < 0)
		return "the directory for them, DEBUGINFOD_CACHE_PATH, cannot be made";
	return debug_library_error();
}

static void *send_requests(void *arg)
{
	struct debug_queue *q = arg;
	const char *error;

	pthread_mutex_lock(&q->lock);
	if (!atomic_load(&q->ends))
		names_go_last(q->names, gettid());
	pthread_mutex_unlock(&q->lock);
	error = begin(q);
	pthread_mutex_lock(&q->lock);
	q->totals.error = error;
	while (!atomic_load(&q->ends)) {
		uint64_t now = clock_now_ns(), rest;
		uint32_t number = q->totals.error ? 0 : next(q);

		rest = number ? rest_ns(q, now) : 0;
		if (number && rest == 0)
			send_request(q, number);
		else
			wait_for_change(q, number ? now + rest : UINT64_MAX);
	}
	q->has_ended = true;
	pthread_cond_broadcast(&q->changed);
	drop(q);
	return NULL;
}

static int start_thread(struct debug_queue *q)
{
	pthread_attr_t detached;
	pthread_t thread;
	sigset_t old;
	int err;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	signals_block(&old);
	err = -pthread_create(&thread, &detached, send_requests, q);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&detached);
	return err;
}

int debug_queue_new(const struct names *names, const struct debug_queue_limits *limits,
		    struct debug_queue **ret)
{
	struct debug_queue *q = calloc(1, sizeof(*q));
	int err;

	*ret = NULL;
	if (!q) {
		if (limits->drop)
			limits->drop(limits->arg);
		return -ENOMEM;
	}
	q->limits = *limits;
	q->names = names;
	q->n_users = 2;
	pthread_mutex_init(&q->lock, NULL);
	cond_init_monotonic(&q->changed);
	err = start_thread(q);
	if (err == 0) {
		*ret = q;
		return 0;
	}
	pthread_mutex_lock(&q->lock);
	q->n_users = 1;
	drop(q);
	return err;
}

void debug_queue_stop(struct debug_queue *q)
{
	pthread_mutex_lock(&q->lock);
	atomic_store(&q->ends, true);
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

void debug_queue_end(struct debug_queue *q)
{
	uint64_t until = clock_now_ns() + DEBUG_QUEUE_END_NS;

	if (!q)
		return;
	debug_queue_stop(q);
	pthread_mutex_lock(&q->lock);
	while (!q->has_ended && clock_now_ns() < until)
		wait_for_change(q, until);
	drop(q);
}
