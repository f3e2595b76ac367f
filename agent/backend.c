// SPDX-License-Identifier: Apache-2.0
#include "agent/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/delivery_report.h"
#include "agent/relabel.h"
#include "agent/seldom.h"
#include "agent/series_memory.h"
#include "base/cleanup.h"
#include "base/fnv1a.h"
#include "base/secret.h"
#include "base/text.h"
#include "log/log.h"

struct backend {
	struct deliver *deliver;
	enum deliver_protocol protocol;
	struct backend_options own; /* what it is found by again; the strings are its own */
	char *spool;
	char *shown; /* its URL without secrets */
	char *mark;  /* a file that is there while it is open; NULL: none */
	struct delivery_counts counts;
	struct series_memory *memory;
	struct seldom failures;
};

bool backend_options_are_of_one(const struct backend_options *a, const struct backend_options *b)
{
	return a->deliver.protocol == b->deliver.protocol &&
	       text_is_same(a->deliver.url, b->deliver.url) && text_is_same(a->name, b->name) &&
	       text_is_same(a->deliver.tenant, b->deliver.tenant) &&
	       text_is_same(a->deliver.user, b->deliver.user);
}

static bool has_same_headers(const struct deliver_options *a, const struct deliver_options *b)
{
	size_t i = 0;

	while (i < a->n_headers && i < b->n_headers && text_is_same(a->headers[i], b->headers[i]))
		i++;
	return i == a->n_headers && i == b->n_headers;
}

static bool has_same_labels(const struct backend_options *a, const struct backend_options *b)
{
	size_t i = 0;

	while (i < a->n_labels && i < b->n_labels &&
	       text_is_same(a->labels[i].name, b->labels[i].name) &&
	       text_is_same(a->labels[i].value, b->labels[i].value))
		i++;
	return i == a->n_labels && i == b->n_labels;
}

bool backend_options_are_equal(const struct backend_options *a, const struct backend_options *b)
{
	const struct deliver_options *x = &a->deliver, *y = &b->deliver;

	return backend_options_are_of_one(a, b) && has_same_headers(x, y) &&
	       has_same_labels(a, b) && text_is_same(x->ca_file, y->ca_file) &&
	       text_is_same(x->certificate_file, y->certificate_file) &&
	       text_is_same(x->key_file, y->key_file) && x->insecure == y->insecure &&
	       text_is_same(x->token_file, y->token_file) &&
	       text_is_same(x->password_file, y->password_file) &&
	       a->max_label_sets == b->max_label_sets && a->max_frames == b->max_frames &&
	       relabel_is_same(a->own_rules, b->own_rules);
}

static uint64_t hash(uint64_t h, const char *text)
{
	return text ? hash_fnv1a(h, text, strlen(text)) : h;
}

static uint64_t identify(const struct backend_options *o)
{
	uint64_t h = hash(FNV1A_START, o->deliver.url);

	h = hash(h, o->name);
	h = hash(h, o->deliver.tenant);
	return hash(h, o->deliver.user);
}

/* A run that was killed leaves its mark. The spool is locked by now. */
static void mark_open(struct backend *b, const char *spool)
{
	_cleanup_close_ int fd = -1;

	if (asprintf(&b->mark, "%s/open", spool) < 0) {
		b->mark = NULL;
		return;
	}
	fd = open(b->mark, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EEXIST)
		log_warning("the last run ended abnormally: its last interval is lost "
			    "for %s",
			    backend_name(b));
}

static int open_deliver(struct backend *b, const struct backend_options *options,
			uint64_t spool_bytes)
{
	struct deliver_options own = options->deliver;
	_cleanup_free_ char *path = NULL;
	int err;

	if (b->spool &&
	    asprintf(&path, "%s/%s-%016" PRIx64, b->spool,
		     b->protocol == DELIVER_OTLP ? "otlp" : "pyroscope", identify(options)) < 0)
		return -ENOMEM;
	if (b->spool && mkdir(b->spool, 0700) < 0 && errno != EEXIST)
		return -errno;
	own.spool = path;
	own.spool_bytes = spool_bytes;
	err = deliver_open(&own, &b->deliver);
	if (err == 0 && path)
		mark_open(b, path);
	return err;
}

/* A wrong URL is not said, as it may have a password. */
static void log_failure(const struct backend_options *options, int err)
{
	_cleanup_free_ char *shown = secret_mask_url(options->deliver.url);

	log_error("cannot deliver to %s: %s", err == -EINVAL || !shown ? "a backend" : shown,
		  err == -EINVAL ? "its URL has no host, or has a user's name" :
		  err == -EBUSY  ? "another agent uses its spool" :
		  err == -ENOSYS ? "libcurl.so.4 is not installed, or too old: install it" :
				   strerror(-err));
}

static int copy(const char *from, const char **ret)
{
	*ret = from ? strdup(from) : NULL;
	return from && !*ret ? -ENOMEM : 0;
}

static int copy_identity(const struct backend_options *from, struct backend_options *to)
{
	to->deliver.protocol = from->deliver.protocol;
	if (copy(from->deliver.url, &to->deliver.url) < 0 || copy(from->name, &to->name) < 0 ||
	    copy(from->deliver.tenant, &to->deliver.tenant) < 0 ||
	    copy(from->deliver.user, &to->deliver.user) < 0)
		return -ENOMEM;
	return 0;
}

int backend_open(const struct backend_options *options, const char *spool, uint64_t spool_bytes,
		 struct backend **ret)
{
	struct backend *b = calloc(1, sizeof(*b));
	int err = -ENOMEM;

	*ret = NULL;
	if (!b)
		return err;
	b->protocol = options->deliver.protocol;
	b->spool = spool ? strdup(spool) : NULL;
	b->shown = secret_mask_url(options->deliver.url);
	if (copy_identity(options, &b->own) == 0 && !b->spool == !spool && b->shown &&
	    series_memory_new(&b->memory) == 0)
		err = open_deliver(b, options, spool_bytes);
	if (err < 0) {
		log_failure(options, err);
		backend_close(b, 0);
		return err;
	}
	*ret = b;
	return 0;
}

static void say_left(const struct backend *b, uint64_t n)
{
	if (n > 0 && b->spool)
		log_info(
			"%s: %" PRIu64
			" requests are kept in %s until an agent delivers there again; "
			"an agent with this spool but without this backend removes them after a week",
			backend_name(b), n, b->spool);
	else if (n > 0)
		log_warning("%s: %" PRIu64 " requests could not be delivered in time, and are lost",
			    backend_name(b), n);
}

void backend_say_left(struct backend *b)
{
	say_left(b, backend_counts(b).deliver.spooled);
}

struct backend *backend_close(struct backend *b, uint64_t time_ns)
{
	if (!b)
		return NULL;
	/* While the spool is locked; all intervals are in it. */
	if (b->mark)
		unlink(b->mark);
	free(b->mark);
	say_left(b, deliver_stop(b->deliver, time_ns));
	free((char *)b->own.deliver.url);
	free((char *)b->own.name);
	free((char *)b->own.deliver.tenant);
	free((char *)b->own.deliver.user);
	free(b->spool);
	series_memory_free(b->memory);
	free(b->shown);
	free(b);
	return NULL;
}

bool backend_is(const struct backend *b, const struct backend_options *options, const char *spool)
{
	return backend_options_are_of_one(&b->own, options) && text_is_same(b->spool, spool);
}

int backend_configure(struct backend *b, const struct backend_options *options,
		      uint64_t spool_bytes)
{
	struct deliver_options own = options->deliver;
	int err;

	own.spool_bytes = spool_bytes;
	err = deliver_configure(b->deliver, &own);
	if (err < 0)
		log_failure(options, err);
	return err;
}

const char *backend_name(const struct backend *b)
{
	return b->own.name ? b->own.name : b->shown;
}

struct seldom *backend_failures(struct backend *b)
{
	return &b->failures;
}

struct backend_counts backend_counts(struct backend *b)
{
	struct backend_counts counts = { .filtered = atomic_load(&b->counts.dropped) };

	for (enum series_kept kept = SERIES_ALL; kept < SERIES_N_KEPT; kept++) {
		counts.kept[kept] = atomic_load(&b->counts.kept[kept]);
		counts.folded += kept == SERIES_ALL ? 0 : counts.kept[kept];
	}
	deliver_counts(b->deliver, &counts.deliver);
	deliver_last_error(b->deliver, &counts.error);
	return counts;
}

int backend_report_new(struct backend *b, const struct backend_options *options,
		       const struct report_context *context, struct report **ret)
{
	const struct delivery delivery = { .deliver = b->deliver,
					   .protocol = b->protocol,
					   .labels = options->labels,
					   .n_labels = options->n_labels,
					   .all_rules = options->all_rules,
					   .own_rules = options->own_rules,
					   .memory = b->memory,
					   .max_label_sets = options->max_label_sets,
					   .max_frames = options->max_frames,
					   .counts = &b->counts };

	return delivery_report_new(&delivery, context, ret);
}
