// SPDX-License-Identifier: Apache-2.0
#include "deliver/deliver.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/cond.h"
#include "base/signals.h"
#include "base/text.h"
#include "deliver.pb-c.h"
#include "deliver/http.h"
#include "deliver/notices.h"
#include "deliver/patience.h"
#include "deliver/spool.h"
#include "log/clock.h"
#include "log/log.h"

#define NS_PER_MS 1000000
#define NS_PER_S 1000000000

/* Pauses between attempts, of which each doubles, and is up to a fifth longer or shorter. */
#define FIRST_PAUSE_MS 500
#define LONGEST_PAUSE_MS 60000

#define PATIENCE_NS (UINT64_C(600) * NS_PER_S)

/* What is said of a backend. */
enum notice_kind { NOTICE_AWAY, NOTICE_BACK, NOTICE_REFUSED, NOTICE_GIVEN_UP, NOTICE_UNWANTED };

struct deliver {
	enum deliver_protocol protocol;
	struct spool *spool;
	uint64_t patience_ns;
	/* The thread's */
	struct http *http;
	struct notices notices;
	struct patience patience;
	unsigned int n_failures; /* in a row */
	pthread_t thread;
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t changed;
	struct http *next; /* takes the place of http; NULL: none */
	bool has_news;     /* something was put, or it stops */
	uint64_t end_ns;   /* CLOCK_MONOTONIC, when it has to stop; 0: never */
	struct deliver_counts counts;
	struct deliver_error error;
};

static uint64_t read_end(struct deliver *d)
{
	uint64_t end_ns;

	pthread_mutex_lock(&d->lock);
	end_ns = d->end_ns;
	pthread_mutex_unlock(&d->lock);
	return end_ns;
}

static bool must_stop(void *arg)
{
	uint64_t end_ns = read_end(arg);

	return end_ns > 0 && clock_now_ns() >= end_ns;
}

/* Waits until a time (UINT64_MAX: without end), or for something to do: to deliver, if `for_news`. */
static void wait_until(struct deliver *d, uint64_t until_ns, bool for_news)
{
	pthread_mutex_lock(&d->lock);
	while (d->end_ns == 0 && !d->next && !(for_news && d->has_news) &&
	       clock_now_ns() < until_ns) {
		if (until_ns == UINT64_MAX)
			pthread_cond_wait(&d->changed, &d->lock);
		else
			(void)cond_wait_until(&d->changed, &d->lock, until_ns);
	}
	d->has_news = false;
	pthread_mutex_unlock(&d->lock);
}

/* Many agents that a backend has lost at the same time do not come back at the same time. */
static uint64_t with_jitter(uint64_t ms)
{
	uint32_t random;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		return ms;
	return ms * 4 / 5 + ms * 2 / 5 * (random >> 8) / (1 << 24);
}

static uint64_t find_pause(const struct answer *answer, unsigned int n_failures)
{
	uint64_t pause = FIRST_PAUSE_MS;

	if (answer->pause_ms >= 0)
		return (uint64_t)answer->pause_ms;
	for (unsigned int i = 1; i < n_failures && pause < LONGEST_PAUSE_MS; i++)
		pause *= 2;
	return with_jitter(pause < LONGEST_PAUSE_MS ? pause : LONGEST_PAUSE_MS);
}

/* Of credentials, a backend may repeat them. */
static const char *find_text(const struct answer *answer)
{
	return answer_is_denied(answer) ? "" : answer->text;
}

static void note_answer(struct deliver *d, enum notice_kind kind, const struct answer *answer,
			const char *what)
{
	char text[sizeof(d->notices.of->text)], status[48] = "";
	int code = answer->grpc_status > 0 ? answer->grpc_status : (int)answer->status;
	const char *said = find_text(answer);

	if (answer->grpc_status > 0)
		snprintf(status, sizeof(status), ": gRPC status %d", code);
	else if (code > 0)
		snprintf(status, sizeof(status), ": HTTP status %d", code);
	snprintf(text, sizeof(text), "%s%s%s%s", what, status, *said ? ": " : "", said);
	notices_add(&d->notices, (int)kind, code, text);
}

/* The last that is said of an outage has to be true: what waits of the opposite is so no more. */
static void note_away(struct deliver *d, const struct answer *answer, const char *what)
{
	notices_withdraw(&d->notices, NOTICE_BACK);
	note_answer(d, NOTICE_AWAY, answer, what);
}

static void note_back(struct deliver *d)
{
	notices_withdraw(&d->notices, NOTICE_AWAY);
	notices_add(&d->notices, NOTICE_BACK, 0, "takes profiles again");
}

/* is_end: nothing will be said later. */
static void say_notices(struct deliver *d, bool is_end)
{
	const struct notice *notice;
	uint64_t n;

	while ((notice = notices_take(&d->notices, clock_now_ns(), is_end, &n))) {
		char times[64] = "";

		if (n > 1)
			snprintf(times, sizeof(times), " (%" PRIu64 " times since this was said)",
				 n);
		if (notice->kind == NOTICE_BACK)
			log_info("%s %s%s", http_url(d->http), notice->text, times);
		else
			log_warning("%s %s%s", http_url(d->http), notice->text, times);
	}
}

/* Where the backend has answered, the text is its own. */
static void note_error(struct deliver *d, const struct answer *answer)
{
	struct deliver_error error = { .real_ns = clock_real_ns() };

	if (answer->grpc_status > 0)
		snprintf(error.text, sizeof(error.text), "gRPC status %d", answer->grpc_status);
	else if (answer->status >= 300)
		snprintf(error.text, sizeof(error.text), "HTTP status %ld", answer->status);
	else
		snprintf(error.text, sizeof(error.text), "%.*s", (int)sizeof(error.text) - 1,
			 answer->status == 0 && answer->text[0] ? answer->text : "no valid answer");
	pthread_mutex_lock(&d->lock);
	d->error = error;
	pthread_mutex_unlock(&d->lock);
}

static void count_delivered(struct deliver *d, const struct answer *answer,
			    const struct spool_request *request, uint64_t begun_ns)
{
	pthread_mutex_lock(&d->lock);
	d->counts.delivered++;
	d->counts.delivered_events += request->n_events;
	d->counts.sent_bytes += request->size;
	d->counts.latency_ns += clock_now_ns() - begun_ns;
	d->counts.rejected += answer->rejected;
	pthread_mutex_unlock(&d->lock);
	if (answer->rejected > 0) {
		char text[sizeof(d->notices.of->text)];

		snprintf(text, sizeof(text), "did not want %" PRIu64 " profiles: %s",
			 answer->rejected, answer->text);
		notices_add(&d->notices, NOTICE_UNWANTED, 0, text);
	}
}

static void count_failed(struct deliver *d, uint64_t n_events)
{
	pthread_mutex_lock(&d->lock);
	d->counts.failed++;
	d->counts.failed_events += n_events;
	pthread_mutex_unlock(&d->lock);
}

static void count_dropped(struct deliver *d, uint64_t n_events)
{
	pthread_mutex_lock(&d->lock);
	d->counts.dropped++;
	d->counts.dropped_events += n_events;
	pthread_mutex_unlock(&d->lock);
}

static void count_retried(struct deliver *d)
{
	pthread_mutex_lock(&d->lock);
	d->counts.retried++;
	pthread_mutex_unlock(&d->lock);
}

static void take_next(struct deliver *d)
{
	struct http *next;

	pthread_mutex_lock(&d->lock);
	next = d->next;
	d->next = NULL;
	pthread_mutex_unlock(&d->lock);
	if (!next)
		return;
	http_free(d->http);
	d->http = next;
}

static const char *what_waits(const struct answer *answer)
{
	return answer_is_denied(answer) ? "does not take the credentials, its profiles wait" :
					  "cannot be reached, its profiles wait";
}

/* A request was not taken. The result is when to go on, as of deliver_one(). */
static uint64_t wait_for_backend(struct deliver *d, size_t chosen, uint64_t n_events,
				 const struct answer *answer)
{
	bool is_given_up = patience_fail(&d->patience, chosen, answer_blames_request(answer));

	if (is_given_up) {
		count_failed(d, n_events);
		note_answer(d, NOTICE_GIVEN_UP, answer,
			    "takes others, but not a request that is given up");
		spool_done(d->spool, true);
		return 0;
	}
	spool_done(d->spool, false);
	if (d->n_failures++ == 0)
		note_away(d, answer, what_waits(answer));
	count_retried(d);
	return clock_now_ns() + find_pause(answer, d->n_failures) * NS_PER_MS;
}

/* The oldest request, or another one to find out whether that is at fault (patience.h). */
static int take_request(struct deliver *d, size_t *ret_chosen, struct spool_request *ret)
{
	int err;

	*ret_chosen = patience_choose(&d->patience, spool_oldest(d->spool), d->patience_ns,
				      clock_now_ns());
	err = spool_take(d->spool, *ret_chosen, ret);
	if (err != -ENOENT || *ret_chosen == 0)
		return err;
	*ret_chosen = 0;
	return spool_take(d->spool, 0, ret);
}

/*
 * Tries to deliver a request. The result is when to go on: 0, at once; UINT64_MAX, when there is
 * something.
 */
static uint64_t deliver_one(struct deliver *d)
{
	_cleanup_(spool_request_done) struct spool_request request = { 0 };
	uint64_t begun_ns = clock_now_ns();
	enum answer_verdict verdict;
	struct answer answer;
	size_t chosen;
	int err = take_request(d, &chosen, &request);

	if (err == -ENOENT)
		return UINT64_MAX;
	if (err < 0)
		return err == -ENOMEM ? begun_ns + NS_PER_S : 0;
	verdict = http_post(d->http, request.data, request.size, &answer);
	if (verdict != ANSWER_DELIVERED)
		note_error(d, &answer);
	if (verdict == ANSWER_LATER)
		return wait_for_backend(d, chosen, request.n_events, &answer);
	if (d->n_failures > 0)
		note_back(d);
	d->n_failures = 0;
	if (verdict == ANSWER_DELIVERED) {
		patience_succeed(&d->patience, chosen);
		count_delivered(d, &answer, &request, begun_ns);
	} else {
		count_failed(d, request.n_events);
		note_answer(d, NOTICE_REFUSED, &answer, "refused a request, which is lost");
	}
	/* Last, so that at any moment a request is counted as one or the other: deliver_counts(). */
	spool_done(d->spool, true);
	return 0;
}

static void *run(void *arg)
{
	struct deliver *d = arg;

	for (;;) {
		uint64_t next_ns;

		take_next(d);
		next_ns = must_stop(d) ? UINT64_MAX : deliver_one(d);
		/* While it stops, nothing is worth waiting for. */
		if (next_ns > 0 && read_end(d) > 0)
			break;
		say_notices(d, false);
		if (next_ns == UINT64_MAX)
			wait_until(d, notices_next_ns(&d->notices), true);
		else if (next_ns > 0)
			wait_until(d, next_ns, false);
	}
	say_notices(d, true);
	return NULL;
}

static int start(struct deliver *d)
{
	sigset_t old;
	int err;

	pthread_mutex_init(&d->lock, NULL);
	cond_init_monotonic(&d->changed);
	signals_block(&old);
	err = -pthread_create(&d->thread, NULL, run, d);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err < 0) {
		pthread_cond_destroy(&d->changed);
		pthread_mutex_destroy(&d->lock);
	}
	return err;
}

static void free_parts(struct deliver *d)
{
	http_free(d->http);
	http_free(d->next);
	spool_free(d->spool);
	free(d);
}

int deliver_open(const struct deliver_options *options, struct deliver **ret)
{
	struct deliver *d = calloc(1, sizeof(*d));
	int err;

	*ret = NULL;
	if (!d)
		return -ENOMEM;
	d->protocol = options->protocol;
	d->patience_ns = options->patience_ns > 0 ? options->patience_ns : PATIENCE_NS;
	err = http_open(options, must_stop, d, &d->http);
	if (err == 0)
		err = spool_open(options->spool, options->spool_bytes, &d->spool);
	if (err == 0)
		err = start(d);
	if (err < 0)
		free_parts(d);
	else
		*ret = d;
	return err;
}

int deliver_configure(struct deliver *d, const struct deliver_options *options)
{
	struct http *http, *old;
	int err = options->protocol == d->protocol ? http_open(options, must_stop, d, &http) :
						     -EINVAL;

	if (err < 0)
		return err;
	spool_set_limit(d->spool, options->spool_bytes);
	pthread_mutex_lock(&d->lock);
	old = d->next;
	d->next = http;
	pthread_cond_signal(&d->changed);
	pthread_mutex_unlock(&d->lock);
	http_free(old);
	return 0;
}

static int put(struct deliver *d, const void *body, size_t size, uint64_t n_events)
{
	int err = spool_add(d->spool, body, size, n_events);

	pthread_mutex_lock(&d->lock);
	d->has_news = true;
	pthread_cond_signal(&d->changed);
	pthread_mutex_unlock(&d->lock);
	return err;
}

/* Compresses at once (RFC 1952). 0 or -ENOMEM; the caller frees *ret. */
static int compress_request(const void *data, size_t size, void **ret, size_t *ret_size)
{
	z_stream stream = { .next_in = (Bytef *)data, .avail_in = (uInt)size };
	int done;

	if (size > UINT32_MAX ||
	    deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16,
			 MAX_MEM_LEVEL - 1, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	*ret_size = deflateBound(&stream, size);
	*ret = malloc(*ret_size);
	stream.next_out = *ret;
	stream.avail_out = (uInt)*ret_size;
	done = *ret ? deflate(&stream, Z_FINISH) : Z_MEM_ERROR;
	*ret_size = stream.total_out;
	deflateEnd(&stream);
	if (done == Z_STREAM_END)
		return 0;
	free(*ret);
	*ret = NULL;
	return -ENOMEM;
}

int deliver_put(struct deliver *d, const void *request, size_t size, uint64_t n_events)
{
	_cleanup_free_ void *packed = NULL;
	size_t packed_size;
	int err = d->protocol == DELIVER_OTLP ?
			  compress_request(request, size, &packed, &packed_size) :
			  -EINVAL;

	if (err == 0)
		return put(d, packed, packed_size, n_events);
	count_dropped(d, n_events);
	return err;
}

static void make_uuid(const uint8_t id[16], char ret[37])
{
	char *to = ret;

	for (int i = 0; i < 16; i++)
		to += sprintf(to, "%02x%s", id[i], i == 3 || i == 5 || i == 7 || i == 9 ? "-" : "");
}

/* Texts of messages are UTF-8, which the names of processes need not be. */
static int set_label(Deliver__LabelPair *pair, const struct deliver_label *label)
{
	deliver__label_pair__init(pair);
	pair->name = (char *)label->name; /* only read */
	pair->value = strdup(label->value);
	if (!pair->value)
		return -ENOMEM;
	text_make_utf8(pair->value);
	return 0;
}

/* 0 or -ENOMEM; the caller frees *ret. */
static int pack_push(const Deliver__PushRequest *push, uint8_t **ret, size_t *ret_size)
{
	*ret_size = deliver__push_request__get_packed_size(push);
	*ret = malloc(*ret_size + 1);
	if (!*ret)
		return -ENOMEM;
	deliver__push_request__pack(push, *ret);
	return 0;
}

int deliver_put_pprof(struct deliver *d, const void *file, size_t size, uint64_t n_events,
		      const uint8_t id[16], const struct deliver_label *labels, size_t n)
{
	Deliver__PushRequest push = DELIVER__PUSH_REQUEST__INIT;
	Deliver__RawProfileSeries series = DELIVER__RAW_PROFILE_SERIES__INIT;
	Deliver__RawProfileSeries *all[] = { &series };
	Deliver__RawSample sample = DELIVER__RAW_SAMPLE__INIT, *samples[] = { &sample };
	_cleanup_free_ Deliver__LabelPair *pairs = calloc(n + 1, sizeof(*pairs));
	_cleanup_free_ Deliver__LabelPair **pointers = calloc(n + 1, sizeof(*pointers));
	_cleanup_free_ uint8_t *packed = NULL;
	int err = d->protocol != DELIVER_PYROSCOPE ? -EINVAL : !pairs || !pointers ? -ENOMEM : 0;
	size_t packed_size = 0;
	char uuid[37];

	for (size_t i = 0; err == 0 && i < n; i++) {
		err = set_label(&pairs[i], &labels[i]);
		pointers[i] = &pairs[i];
	}
	make_uuid(id, uuid);
	sample.id = uuid;
	sample.raw_profile = (ProtobufCBinaryData){ size, (uint8_t *)file }; /* only read */
	series.n_labels = n;
	series.labels = pointers;
	series.n_samples = 1;
	series.samples = samples;
	push.n_series = 1;
	push.series = all;
	if (err == 0)
		err = pack_push(&push, &packed, &packed_size);
	for (size_t i = 0; pairs && i < n; i++)
		free(pairs[i].value);
	if (err == 0)
		return put(d, packed, packed_size, n_events);
	count_dropped(d, n_events);
	return err;
}

void deliver_counts(struct deliver *d, struct deliver_counts *ret)
{
	struct spool_counts spool;

	spool_counts(d->spool, &spool);
	pthread_mutex_lock(&d->lock);
	*ret = d->counts;
	pthread_mutex_unlock(&d->lock);
	ret->dropped += spool.dropped;
	ret->dropped_events += spool.dropped_events;
	ret->spooled = spool.n;
	ret->spooled_bytes = spool.bytes;
	ret->spooled_events = spool.events;
}

void deliver_last_error(struct deliver *d, struct deliver_error *ret)
{
	pthread_mutex_lock(&d->lock);
	*ret = d->error;
	pthread_mutex_unlock(&d->lock);
}

uint64_t deliver_stop(struct deliver *d, uint64_t time_ns)
{
	struct spool_counts left;

	if (!d)
		return 0;
	pthread_mutex_lock(&d->lock);
	d->end_ns = clock_now_ns() + time_ns;
	pthread_cond_signal(&d->changed);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->thread, NULL);
	pthread_cond_destroy(&d->changed);
	pthread_mutex_destroy(&d->lock);
	spool_counts(d->spool, &left);
	free_parts(d);
	return left.n;
}
