// SPDX-License-Identifier: Apache-2.0
#include "samples/verify_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/cond.h"
#include "base/signals.h"
#include "binaries/workers.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "samples/verify.h"
#include "samples/verify_maps.h"
#include "symbols/names.h"

/* How often verify_queue_finish() looks whether to go on waiting. */
#define LOOK_NS UINT64_C(50000000)

/* One sample to verify. Its frames and its copy are owned; its other arrays are not there. */
struct comparison {
	struct verification verification;
	STAILQ_ENTRY(comparison) next;
	struct verify_queue *queue;
	const struct verify_maps *maps;
	struct stack_copy *copy;
	size_t n_bytes;
	bool is_counted; /* by the thread that reads the rings, which needs no modules any more */
	/* Protected by the queue's lock */
	unsigned int n_users; /* the queue, and the sample on its way */
	bool has_result;
	struct verified_stack result; /* owns its frames and `end` */
	struct sample sample;
	struct frame frames[];
};

STAILQ_HEAD(comparison_list, comparison);

struct verify_queue {
	/* Of the thread that reads the rings */
	struct verify_maps_store maps;
	struct verified results;
	const struct names *names;
	size_t n, n_bytes;   /* that are not collected yet */
	uint64_t cpu_ns;     /* CPU time when last looked at, of the thread or who it waits for */
	uint64_t stopped_ns; /* the CPU time has not changed since */
	bool hangs;

	struct verify *verify; /* the thread's own */
	pthread_t thread;
	bool is_started;
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t more, changed;
	struct comparison_list waiting, done;
	struct comparison *running;
	uint64_t n_done;
	bool ends, has_ended;
	bool is_left; /* the thread frees all this at its end */
};

static void comparison_drop(struct comparison *c)
{
	pthread_mutex_t *lock = &c->queue->lock;
	bool is_last;

	pthread_mutex_lock(lock);
	is_last = --c->n_users == 0;
	pthread_mutex_unlock(lock);
	if (!is_last)
		return;
	stack_copy_free(c->copy);
	free((void *)c->result.frames);
	free((void *)c->result.end);
	free(c);
}

static void drop_verification(struct verification *verification)
{
	comparison_drop((struct comparison *)verification);
}

static const struct verified_stack *wait_for_result(struct verification *verification)
{
	struct comparison *c = (struct comparison *)verification;

	pthread_mutex_lock(&c->queue->lock);
	while (!c->has_result)
		pthread_cond_wait(&c->queue->changed, &c->queue->lock);
	pthread_mutex_unlock(&c->queue->lock);
	return &c->result;
}

/* The lock is held. */
static void set_result(struct comparison *c, enum verified_result result)
{
	if (c->has_result)
		return;
	c->result.result = result;
	c->has_result = true;
	pthread_cond_broadcast(&c->queue->changed);
}

/* Copies the result. The lock is held. */
static void keep_result(struct comparison *c, const struct verified_stack *s)
{
	size_t size = s->n_frames * sizeof(*s->frames);
	struct frame *frames = malloc(size ? size : 1);
	char *end = strdup(s->end ? s->end : "");

	if (c->has_result || !frames || !end) {
		free(frames);
		free(end);
		set_result(c, VERIFIED_LEFT_OUT);
		return;
	}
	if (size > 0)
		memcpy(frames, s->frames, size);
	c->result = *s;
	c->result.frames = frames;
	c->result.end = end;
	set_result(c, s->result);
}

static void put_done(struct verify_queue *q, struct comparison *c)
{
	STAILQ_INSERT_TAIL(&q->done, c, next);
	q->n_done++;
	pthread_cond_broadcast(&q->changed);
}

/* Takes the next one out of the list; NULL: the thread ends. */
static struct comparison *wait_for_comparison(struct verify_queue *q)
{
	struct comparison *c;

	while (STAILQ_EMPTY(&q->waiting) && !q->ends)
		pthread_cond_wait(&q->more, &q->lock);
	if (q->ends)
		return NULL;
	c = STAILQ_FIRST(&q->waiting);
	STAILQ_REMOVE_HEAD(&q->waiting, next);
	return c;
}

static void drop_all(struct comparison_list *comparisons)
{
	struct comparison *c;

	while ((c = STAILQ_FIRST(comparisons)) != NULL) {
		STAILQ_REMOVE_HEAD(comparisons, next);
		comparison_drop(c);
	}
}

/* By the last thread that uses it. */
static void queue_destroy(struct verify_queue *q)
{
	drop_all(&q->waiting);
	drop_all(&q->done);
	verify_free(q->verify);
	verify_maps_done(&q->maps);
	pthread_mutex_destroy(&q->lock);
	pthread_cond_destroy(&q->more);
	pthread_cond_destroy(&q->changed);
	free(q);
}

static void *verify_queue_run(void *arg)
{
	struct verify_queue *q = arg;
	struct comparison *c;
	bool is_left;

	pthread_mutex_lock(&q->lock);
	while ((c = wait_for_comparison(q)) != NULL) {
		struct verified_stack stack;

		q->running = c;
		pthread_mutex_unlock(&q->lock);
		verify_stack(q->verify, c->maps, c->copy, c->sample.user, c->sample.n_user, &stack);
		pthread_mutex_lock(&q->lock);
		q->running = NULL;
		keep_result(c, &stack);
		put_done(q, c);
	}
	q->has_ended = true;
	is_left = q->is_left;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
	if (is_left)
		queue_destroy(q);
	return NULL;
}

static int start_thread(struct verify_queue *q)
{
	sigset_t old;
	int err;

	signals_block(&old);
	err = pthread_create(&q->thread, NULL, verify_queue_run, q);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return -err;
	q->is_started = true;
	pthread_setname_np(q->thread, "verify");
	return 0;
}

int verify_queue_new(struct parsers *parsers, unsigned int max_frames, const struct names *names,
		     struct verify_queue **ret)
{
	struct verify_queue *q = calloc(1, sizeof(*q));
	int err;

	if (!q)
		return -ENOMEM;
	q->names = names;
	STAILQ_INIT(&q->waiting);
	STAILQ_INIT(&q->done);
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->more, NULL);
	cond_init_monotonic(&q->changed);
	err = verify_new(parsers, max_frames, &q->verify);
	if (err == 0)
		err = start_thread(q);
	if (err < 0)
		q = verify_queue_free(q);
	*ret = q;
	return err;
}

/* Its frames are kept until the result is counted, and their modules with them. */
static struct comparison *comparison_new(struct verify_queue *q, const struct sample *sample,
					 struct stack_copy *copy)
{
	size_t size = sample->n_user * sizeof(*sample->user);
	struct comparison *c = calloc(1, sizeof(*c) + size);

	if (!c)
		return NULL;
	if (size > 0)
		memcpy(c->frames, sample->user, size);
	for (size_t i = 0; i < sample->n_user; i++)
		if (c->frames[i].module)
			module_hold(c->frames[i].module);
	c->sample = *sample;
	c->sample.user = c->frames;
	c->sample.kernel = NULL;
	c->sample.n_kernel = 0;
	c->sample.labels = NULL;
	c->queue = q;
	c->copy = copy;
	c->n_bytes = sizeof(*c) + size + (copy ? copy->n_bytes : 0);
	c->n_users = 2;
	/* libdwfl's frames are about as many; the copy is freed soon. */
	c->verification = (struct verification){ .wait = wait_for_result,
						 .drop = drop_verification,
						 .size = sizeof(*c) + 2 * size };
	return c;
}

static bool is_full(const struct verify_queue *q, const struct comparison *c)
{
	return q->n >= VERIFY_QUEUE_MAX ||
	       q->n_bytes + q->maps.n_bytes + c->n_bytes > VERIFY_QUEUE_MAX_BYTES;
}

static bool has_room(struct verify_queue *q, const struct comparison *c)
{
	if (!is_full(q, c))
		return true;
	verify_queue_collect(q);
	verify_maps_expire(&q->maps, clock_now_ns(), 0);
	return !is_full(q, c);
}

/* Why there is nothing to compare; VERIFIED_NONE: there is. */
static enum verified_result result_at_once(struct verify_queue *q, struct comparison *c,
					   const struct snapshot *snapshot)
{
	if (!c->copy)
		return VERIFIED_NO_COPY;
	if (!snapshot)
		return VERIFIED_NO_START;
	if (!has_room(q, c))
		return VERIFIED_LEFT_OUT;
	c->maps = verify_maps_get(&q->maps, snapshot);
	/* Again, because the mappings may be new. */
	return c->maps && has_room(q, c) ? VERIFIED_NONE : VERIFIED_LEFT_OUT;
}

int verify_queue_add(struct verify_queue *q, const struct sample *sample,
		     const struct snapshot *snapshot, struct stack_copy *copy,
		     struct verification **ret)
{
	struct comparison *c = comparison_new(q, sample, copy);
	enum verified_result result;

	if (!c) {
		stack_copy_free(copy);
		return -ENOMEM;
	}
	result = result_at_once(q, c, snapshot);
	q->n++;
	q->n_bytes += c->n_bytes;
	pthread_mutex_lock(&q->lock);
	if (result == VERIFIED_NONE) {
		STAILQ_INSERT_TAIL(&q->waiting, c, next);
		pthread_cond_signal(&q->more);
	} else {
		set_result(c, result);
		put_done(q, c);
	}
	pthread_mutex_unlock(&q->lock);
	*ret = &c->verification;
	return 0;
}

/* Reports may now refer to the binaries where libdwfl has found frames. */
static void note_binaries(const struct comparison *c)
{
	for (size_t i = 0; i < c->result.n_frames; i++) {
		const struct frame *f = &c->result.frames[i];
		const struct verify_mapping *m =
			verify_maps_find(c->maps, f->address - !frame_is_exact(f));

		if (m && m->file && m->file->binary)
			m->file->binary->is_sampled = true;
	}
}

static void count(struct verify_queue *q, struct comparison *c)
{
	uint64_t now = clock_now_ns();

	if (c->is_counted)
		return;
	c->is_counted = true;
	note_binaries(c);
	verified_count(&q->results, &c->sample, &c->result);
	for (size_t i = 0; i < c->sample.n_user; i++)
		if (c->frames[i].module)
			module_drop(c->frames[i].module, now);
}

/* Leaves out what has no result yet. The lock is held. */
static void leave_out(struct verify_queue *q)
{
	struct comparison *c;

	STAILQ_FOREACH(c, &q->waiting, next)
	set_result(c, VERIFIED_LEFT_OUT);
	STAILQ_CONCAT(&q->done, &q->waiting);
	if (!q->running)
		return;
	/* The thread goes on using it. */
	set_result(q->running, VERIFIED_LEFT_OUT);
	count(q, q->running);
}

/* Who uses CPU time, however little, goes on. The lock is held. */
static void look_at_thread(struct verify_queue *q)
{
	uint64_t now = clock_now_ns(), cpu_ns;
	clockid_t clock, helper;

	if (!q->running || pthread_getcpuclockid(q->thread, &clock) != 0) {
		q->stopped_ns = now;
		q->hangs = false;
		return;
	}
	/* To look at a helper takes CPU time, too. */
	helper = verify_clock(q->verify);
	cpu_ns = clock_read_ns(helper ? helper : clock);
	if (cpu_ns != q->cpu_ns)
		q->stopped_ns = now;
	q->cpu_ns = cpu_ns;
	q->hangs = now > q->stopped_ns + WORKERS_HANG_NS;
}

/* Returns those that the thread does not use any more. */
static struct comparison_list take_done(struct verify_queue *q, bool gives_up)
{
	struct comparison_list done = STAILQ_HEAD_INITIALIZER(done);

	pthread_mutex_lock(&q->lock);
	look_at_thread(q);
	if (gives_up || q->hangs)
		leave_out(q);
	STAILQ_CONCAT(&done, &q->done);
	pthread_mutex_unlock(&q->lock);
	return done;
}

static void collect(struct verify_queue *q, bool gives_up)
{
	struct comparison_list done = take_done(q, gives_up);
	uint64_t now = clock_now_ns();
	struct comparison *c;

	STAILQ_FOREACH(c, &done, next)
	{
		count(q, c);
		q->n--;
		q->n_bytes -= c->n_bytes;
		c->copy = stack_copy_free(c->copy);
		if (c->maps)
			verify_maps_drop(&q->maps, c->maps, now);
	}
	drop_all(&done);
	verify_maps_expire(&q->maps, now, VERIFY_MAPS_KEPT_NS);
}

void verify_queue_collect(struct verify_queue *q)
{
	if (q)
		collect(q, false);
}

void verify_queue_give_up(struct verify_queue *q)
{
	if (q)
		collect(q, true);
}

/* Waits until something changes, or for LOOK_NS. Returns how many have ever been done. */
static uint64_t wait_for_change(struct verify_queue *q)
{
	uint64_t end_ns = clock_now_ns() + LOOK_NS, n;

	pthread_mutex_lock(&q->lock);
	if (STAILQ_EMPTY(&q->done))
		(void)cond_wait_until(&q->changed, &q->lock, end_ns);
	n = q->n_done;
	pthread_mutex_unlock(&q->lock);
	return n;
}

void verify_queue_finish(struct verify_queue *q)
{
	uint64_t since = clock_now_ns(), n_before = 0;

	verify_queue_collect(q);
	while (q->n > 0 && !q->hangs && !names_disabled(q->names) &&
	       clock_now_ns() - since < VERIFY_QUEUE_PATIENCE_NS) {
		uint64_t n = wait_for_change(q);

		if (n != n_before)
			since = clock_now_ns();
		n_before = n;
		verify_queue_collect(q);
		if (q->n > 0)
			log_progress(
				"stacks that wait to be verified: %zu (Ctrl-C to leave these out)",
				q->n);
	}
	verify_queue_give_up(q);
}

/* Returns whether the thread has ended. If it hangs already, does not wait for it. */
static bool end_thread(struct verify_queue *q)
{
	uint64_t end_ns = clock_now_ns() + (q->hangs ? 0 : WORKERS_END_NS);
	bool has_ended;
	int err = 0;

	if (!q->is_started)
		return true;
	pthread_mutex_lock(&q->lock);
	q->ends = true;
	pthread_cond_signal(&q->more);
	while (!q->has_ended && err == 0)
		err = cond_wait_until(&q->changed, &q->lock, end_ns);
	has_ended = q->has_ended;
	if (has_ended)
		pthread_join(q->thread, NULL);
	else
		pthread_detach(q->thread);
	q->is_left = !has_ended;
	pthread_mutex_unlock(&q->lock);
	return has_ended;
}

struct verify_queue *verify_queue_free(struct verify_queue *q)
{
	if (!q)
		return NULL;
	verify_queue_give_up(q);
	verify_maps_let_go(&q->maps);
	if (end_thread(q))
		queue_destroy(q);
	return NULL;
}

const struct verified *verify_queue_results(const struct verify_queue *q)
{
	return &q->results;
}

static void log_kind(void *arg, const char *line)
{
	log_detail("%s", line);
}

void verify_queue_log(const struct verify_queue *q, bool symbols)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (!to || !log_enabled(LOG_INFO))
		goto end;
	verified_print(&q->results, to);
	fflush(to);
	log_info("verified by libdwfl: %s", text);
	verified_for_each_kind(&q->results, symbols,
			       log_enabled(LOG_DEBUG) ? VERIFIED_MAX_KINDS : VERIFIED_SHOWN_KINDS,
			       log_kind, NULL);
end:
	if (to)
		fclose(to);
}
