// SPDX-License-Identifier: Apache-2.0
#include "report/report_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/signals.h"
#include "limits/limits.h"
#include "report/verification.h"
#include "symbols/names.h"

/* The names of so many waiting samples are read together; more would keep the first report waiting. */
#define NAMED_TOGETHER 256

/* Between reports, processes that have read no names for so long are ended. */
#define NAMES_IDLE_NS UINT64_C(30000000000)

enum item_kind { ITEM_SAMPLE, ITEM_CODE, ITEM_CLOSE, ITEM_TICK, ITEM_TAKE, ITEM_CALL };

/* A task of the thread. */
struct item {
	TAILQ_ENTRY(item) next, next_unread;
	enum item_kind kind;
	size_t size;
	struct totals totals;
	/* ITEM_CLOSE */
	struct module *close;
	uint64_t now_ns; /* ITEM_TICK, ITEM_TAKE */
	/* ITEM_TAKE: number of the report to replace */
	size_t slot;
	struct report *report;
	report_taken_fn taken;
	void *arg;
	/* ITEM_CALL */
	void (*fn)(void *object);
	void *object;
	/* ITEM_SAMPLE: its arrays are in the data; of ITEM_CODE, only the user frames are set */
	struct sample sample;
	bool has_wanted; /* its names, with those of samples before it */
	bool is_unread;  /* frame_read() is to be called for its frames; protected by the lock */
	uint64_t data[];
};

/* A report, the totals before its time, and since when it has kept samples. */
struct slot {
	struct report *report;
	struct totals before;
	uint64_t since_ns; /* 0: the start */
};

struct report_queue {
	struct slot *slots; /* owned by the thread while it runs */
	size_t n_slots;
	struct names *names;
	bool keeps_names;
	pthread_t thread, reader; /* report_queue_run(), report_queue_read() */
	bool has_thread, has_reader;
	struct label_finisher *finisher; /* NULL: none */
	pthread_mutex_t lock;            /* protects all that follows */
	pthread_cond_t more, more_unread;
	TAILQ_HEAD(item_list, item) items;
	struct item_list unread; /* of these, and only they are used by the reader */
	size_t n_samples;
	uint64_t oldest_ns;
	size_t size; /* of the items, in bytes */
	bool ends;   /* when all is reported */
	bool drops;  /* at once */
	int err;
	struct frame *located; /* of a sample, DP_MAX_FRAMES */
};

/* JIT code may be replaced later. */
static void locate_frames(struct report_queue *q, struct sample *sample)
{
	bool is_cut;

	sample->n_user =
		frames_locate(sample->user, sample->n_user, sample->time_ns, q->located, &is_cut);
	sample->user = q->located;
	if (is_cut)
		sample->outcome = DP_DEPTH_LIMIT;
}

static int add_sample(struct report_queue *q, struct item *item)
{
	struct verification *verification = item->sample.verification;
	_cleanup_(label_set_freep) struct label_set *labels = NULL;
	int err = 0;

	if (verification)
		item->sample.verified = verification->wait(verification);
	if (q->finisher && item->sample.labels)
		err = q->finisher->finish(q->finisher, item->sample.labels, &labels);
	if (labels)
		item->sample.labels = labels;
	locate_frames(q, &item->sample);
	for (size_t i = 0; err == 0 && i < q->n_slots; i++) {
		struct totals totals = totals_since(&item->totals, &q->slots[i].before);

		err = report_add(q->slots[i].report, &item->sample, &totals);
	}
	return err;
}

static void note_oldest(struct report_queue *q)
{
	uint64_t oldest = UINT64_MAX;

	for (size_t i = 0; i < q->n_slots; i++)
		if (!q->slots[i].report->streams && q->slots[i].since_ns < oldest)
			oldest = q->slots[i].since_ns;
	pthread_mutex_lock(&q->lock);
	q->oldest_ns = oldest;
	pthread_mutex_unlock(&q->lock);
}

static int tick(struct report_queue *q, const struct item *item)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < q->n_slots; i++) {
		struct slot *slot = &q->slots[i];
		struct totals totals = totals_since(&item->totals, &slot->before);

		err = report_tick(slot->report, &totals);
		if (slot->report->forgets)
			slot->since_ns = item->now_ns;
	}
	note_oldest(q);
	return err;
}

static int take(struct report_queue *q, const struct item *item)
{
	struct slot *slot = &q->slots[item->slot];
	struct totals totals = totals_since(&item->totals, &slot->before);
	int err = item->taken(item->arg, slot->report, &totals);

	*slot = (struct slot){ .report = item->report,
			       .before = item->totals,
			       .since_ns = item->now_ns };
	note_oldest(q);
	names_rest(q->names, NAMES_IDLE_NS);
	return err;
}

/* A report that has begun to keep samples needs their names, even if none did at the start. */
static bool keeps_names(const struct report_queue *q)
{
	bool keeps = q->keeps_names;

	for (size_t i = 0; i < q->n_slots; i++)
		keeps |= !q->slots[i].report->streams && q->slots[i].report->context.symbols;
	return keeps;
}

static int do_item(struct report_queue *q, struct item *item)
{
	switch (item->kind) {
	case ITEM_SAMPLE:
		return add_sample(q, item);
	case ITEM_CODE:
		return 0;
	case ITEM_CLOSE:
		module_close(item->close, keeps_names(q));
		return 0;
	case ITEM_TICK:
		return tick(q, item);
	case ITEM_TAKE:
		return take(q, item);
	case ITEM_CALL:
		item->fn(item->object);
		return 0;
	}
	return -EINVAL;
}

static bool has_to_wait(const struct report_queue *q)
{
	const struct item *item = TAILQ_FIRST(&q->items);

	return item ? item->is_unread && !q->drops : !q->ends;
}

/* Waits for the next item, which stays in the list until it is done; NULL: the thread ends. */
static struct item *wait_for_item(struct report_queue *q)
{
	while (has_to_wait(q))
		pthread_cond_wait(&q->more, &q->lock);
	return q->drops ? NULL : TAILQ_FIRST(&q->items);
}

static void remove_item(struct report_queue *q, struct item *item)
{
	TAILQ_REMOVE(&q->items, item, next);
	q->n_samples -= item->kind == ITEM_SAMPLE;
	q->size -= item->size;
	if (item->kind == ITEM_SAMPLE)
		verification_drop(item->sample.verification);
	free(item);
}

/*
 * Says which names will be needed from this item to the last one. Only this thread removes items, so
 * they can be read without the lock, but for what follows the last one.
 */
static void want_names(struct item *item, const struct item *last)
{
	for (int n = 0; n < NAMED_TOGETHER; n++) {
		for (size_t i = 0; item->kind == ITEM_SAMPLE && i < item->sample.n_user; i++)
			frame_want_locations(&item->sample.user[i], false);
		item->has_wanted = true;
		if (item == last)
			break;
		item = TAILQ_NEXT(item, next);
	}
}

static void *report_queue_run(void *arg)
{
	struct report_queue *q = arg;
	struct item *item, *last;
	int err;

	names_go_last(q->names, gettid());
	pthread_mutex_lock(&q->lock);
	while ((item = wait_for_item(q)) != NULL) {
		last = TAILQ_LAST(&q->items, item_list);
		err = q->err;
		pthread_mutex_unlock(&q->lock);
		if (err == 0 && !item->has_wanted)
			want_names(item, last);
		if (err == 0 || item->kind == ITEM_CALL)
			err = do_item(q, item) ?: err;
		pthread_mutex_lock(&q->lock);
		remove_item(q, item);
		q->err = err;
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

/* The next item whose frames are to be read; NULL: the thread ends. */
static struct item *wait_for_unread(struct report_queue *q)
{
	while (TAILQ_EMPTY(&q->unread) && !q->ends)
		pthread_cond_wait(&q->more_unread, &q->lock);
	return q->drops ? NULL : TAILQ_FIRST(&q->unread);
}

/*
 * Reads the names of what runtimes execute from the memory of their processes, which may end while the other
 * thread waits for native names, or for who reads a pipe. That one leaves an item alone until this has read it.
 */
static void *report_queue_read(void *arg)
{
	struct report_queue *q = arg;
	struct item *item;

	pthread_mutex_lock(&q->lock);
	while ((item = wait_for_unread(q)) != NULL) {
		pthread_mutex_unlock(&q->lock);
		for (size_t i = 0; i < item->sample.n_user; i++)
			frame_read(&item->sample.user[i]);
		pthread_mutex_lock(&q->lock);
		TAILQ_REMOVE(&q->unread, item, next_unread);
		item->is_unread = false;
		pthread_cond_signal(&q->more);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

static int start_thread(struct report_queue *q, void *(*run)(void *), const char *name,
			pthread_t *ret)
{
	sigset_t old;
	int err;

	signals_block(&old);
	err = pthread_create(ret, NULL, run, q);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return -err;
	pthread_setname_np(*ret, name);
	return 0;
}

/* Only if there is something to read: most programs have no runtime. */
static int start_reader(struct report_queue *q)
{
	int err = q->has_reader ? 0 : start_thread(q, report_queue_read, "code", &q->reader);

	q->has_reader = err == 0;
	return err;
}

int report_queue_new(struct report **reports, size_t n_reports, struct names *names,
		     bool keeps_names, struct report_queue **ret)
{
	struct report_queue *q = calloc(1, sizeof(*q));
	int err;

	if (!q)
		return -ENOMEM;
	q->names = names;
	q->keeps_names = keeps_names;
	TAILQ_INIT(&q->items);
	TAILQ_INIT(&q->unread);
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->more, NULL);
	pthread_cond_init(&q->more_unread, NULL);
	q->slots = calloc(n_reports + 1, sizeof(*q->slots));
	q->n_slots = n_reports;
	for (size_t i = 0; q->slots && i < n_reports; i++)
		q->slots[i].report = reports[i];
	if (q->slots)
		note_oldest(q);
	q->located = calloc(DP_MAX_FRAMES, sizeof(*q->located));
	err = q->slots && q->located ? start_thread(q, report_queue_run, "reports", &q->thread) :
				       -ENOMEM;
	q->has_thread = err == 0;
	if (err < 0)
		q = report_queue_free(q);
	*ret = q;
	return err;
}

void report_queue_set_finisher(struct report_queue *q, struct label_finisher *finisher)
{
	pthread_mutex_lock(&q->lock);
	q->finisher = finisher;
	pthread_mutex_unlock(&q->lock);
}

static int add_item(struct report_queue *q, struct item *item)
{
	int err;

	pthread_mutex_lock(&q->lock);
	err = q->err;
	if (err == 0) {
		q->n_samples += item->kind == ITEM_SAMPLE;
		q->size += item->size;
		TAILQ_INSERT_TAIL(&q->items, item, next);
		if (item->is_unread) {
			TAILQ_INSERT_TAIL(&q->unread, item, next_unread);
			pthread_cond_signal(&q->more_unread);
		}
		pthread_cond_signal(&q->more);
	}
	pthread_mutex_unlock(&q->lock);
	return err;
}

/* Appends a copy of an array. */
static const void *put_array(char **to, const void *from, size_t size)
{
	void *copy = *to;

	if (size > 0)
		memcpy(copy, from, size);
	*to += size;
	return copy;
}

int report_queue_add(struct report_queue *q, const struct sample *sample,
		     const struct totals *totals)
{
	size_t user_size = sample->n_user * sizeof(*sample->user);
	size_t kernel_size = sample->n_kernel * sizeof(*sample->kernel);
	size_t labels_size = label_set_size(sample->labels);
	size_t size = sizeof(struct item) + user_size + kernel_size + labels_size;
	_cleanup_free_ struct item *item = malloc(size);
	char *to;
	int err;

	if (!item) {
		verification_drop(sample->verification);
		return -ENOMEM;
	}
	item->kind = ITEM_SAMPLE;
	item->has_wanted = false;
	item->is_unread = sample_has_runtime_frames(sample);
	item->size = size + (sample->verification ? sample->verification->size : 0);
	item->sample = *sample;
	item->totals = *totals;
	item->totals.verified = NULL; /* it continues to change */
	to = (char *)item->data;
	item->sample.user = put_array(&to, sample->user, user_size);
	item->sample.kernel = put_array(&to, sample->kernel, kernel_size);
	if (sample->labels)
		item->sample.labels = put_array(&to, sample->labels, labels_size);
	err = item->is_unread ? start_reader(q) : 0;
	if (err == 0)
		err = add_item(q, item);
	if (err == 0)
		item = NULL;
	else
		verification_drop(sample->verification);
	return err;
}

/* Modules are freed after the present items, so this one can refer to them as samples do. */
int report_queue_read_code(struct report_queue *q, const struct frame *frames, size_t n)
{
	size_t frames_size = n * sizeof(*frames), size = sizeof(struct item) + frames_size;
	_cleanup_free_ struct item *item = malloc(size);
	char *to;
	int err;

	if (!item)
		return -ENOMEM;
	*item = (struct item){
		.kind = ITEM_CODE, .size = size, .is_unread = true, .sample.n_user = n
	};
	to = (char *)item->data;
	item->sample.user = put_array(&to, frames, frames_size);
	err = start_reader(q);
	if (err == 0)
		err = add_item(q, item);
	if (err == 0)
		item = NULL;
	return err;
}

/* For an item without a sample. */
static int add_request(struct report_queue *q, const struct item *request)
{
	_cleanup_free_ struct item *item = malloc(sizeof(*item));
	int err;

	if (!item)
		return -ENOMEM;
	*item = *request;
	item->size = sizeof(*item);
	item->totals.verified = NULL;
	err = add_item(q, item);
	if (err == 0)
		item = NULL;
	return err;
}

int report_queue_close_module(struct report_queue *q, struct module *module)
{
	return add_request(q, &(struct item){ .kind = ITEM_CLOSE, .close = module });
}

int report_queue_tick(struct report_queue *q, const struct totals *totals, uint64_t now_ns)
{
	return add_request(
		q, &(struct item){ .kind = ITEM_TICK, .totals = *totals, .now_ns = now_ns });
}

int report_queue_take(struct report_queue *q, size_t i, struct report *report,
		      const struct totals *totals, uint64_t now_ns, report_taken_fn fn, void *arg)
{
	if (i >= q->n_slots)
		return -EINVAL;
	return add_request(q, &(struct item){ .kind = ITEM_TAKE,
					      .totals = *totals,
					      .slot = i,
					      .report = report,
					      .taken = fn,
					      .arg = arg,
					      .now_ns = now_ns });
}

uint64_t report_queue_oldest_ns(struct report_queue *q)
{
	uint64_t oldest;

	pthread_mutex_lock(&q->lock);
	oldest = q->oldest_ns;
	pthread_mutex_unlock(&q->lock);
	return oldest;
}

int report_queue_call(struct report_queue *q, void (*fn)(void *object), void *object)
{
	return add_request(q, &(struct item){ .kind = ITEM_CALL, .fn = fn, .object = object });
}

struct totals report_queue_totals(const struct report_queue *q, size_t i, const struct totals *now)
{
	struct totals totals = totals_since(now, &q->slots[i].before);

	totals.verified = now->verified;
	totals.calls = now->calls;
	return totals;
}

bool report_queue_is_full(struct report_queue *q)
{
	bool is_full;

	pthread_mutex_lock(&q->lock);
	is_full = q->size > REPORT_QUEUE_MAX;
	pthread_mutex_unlock(&q->lock);
	return is_full;
}

size_t report_queue_size(struct report_queue *q)
{
	size_t n;

	pthread_mutex_lock(&q->lock);
	n = q->n_samples;
	pthread_mutex_unlock(&q->lock);
	return n;
}

static int end_thread(struct report_queue *q, bool drops)
{
	if (!q->has_thread)
		return q->err;
	pthread_mutex_lock(&q->lock);
	q->ends = true;
	q->drops = drops;
	pthread_cond_signal(&q->more);
	pthread_cond_signal(&q->more_unread);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
	q->has_thread = false;
	if (q->has_reader)
		pthread_join(q->reader, NULL);
	q->has_reader = false;
	return q->err;
}

int report_queue_finish(struct report_queue *q)
{
	names_settle(q->names);
	return end_thread(q, false);
}

struct report_queue *report_queue_free(struct report_queue *q)
{
	struct item *item;

	if (!q)
		return NULL;
	end_thread(q, true);
	while ((item = TAILQ_FIRST(&q->items)) != NULL) {
		if (item->kind == ITEM_CALL)
			item->fn(item->object);
		remove_item(q, item);
	}
	if (q->finisher)
		q->finisher->free(q->finisher);
	pthread_cond_destroy(&q->more);
	pthread_cond_destroy(&q->more_unread);
	pthread_mutex_destroy(&q->lock);
	free(q->slots);
	free(q->located);
	free(q);
	return NULL;
}
