// SPDX-License-Identifier: Apache-2.0
#include "agent/backend.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "log/log.h"

/* Pyroscope's profiles are of one service each: so many per report, and one for all others. */
#define MAX_SERVICES 256
#define OTHER_SERVICES "other"

struct backend {
	struct deliver *deliver;
	enum deliver_protocol protocol;
	struct backend_options own; /* what it is found by again; the strings are its own */
	char *spool;
};

/* Pyroscope cuts deeper stacks at the leaf (pkg/pprof, max_profile_stacktrace_depth). */
#define PYROSCOPE_FRAMES 1000

/* Each of Pyroscope's profiles is of one kind, which it tells by `__name__`. */
enum kind { KIND_ALL, KIND_EVENTS, KIND_OFF_CPU, KIND_WALL };

/* A part of a report: all of it, or a kind of samples of a service. */
struct part {
	UT_hash_handle hh; /* by key */
	struct part_key {
		enum kind kind;
		char service[DP_COMM_SIZE + 8];
	} key;
	struct report *report;
	struct totals totals;
	char *text;
	size_t size;
	FILE *to;
};

struct backend_report {
	struct report report;
	struct backend *backend;
	const struct backend_options *options;
	struct report_parts limits;
	struct part *parts;
};

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

bool backend_options_are_of_one(const struct backend_options *a, const struct backend_options *b)
{
	return a->deliver.protocol == b->deliver.protocol &&
	       is_same(a->deliver.url, b->deliver.url) && is_same(a->name, b->name) &&
	       is_same(a->deliver.tenant, b->deliver.tenant) &&
	       is_same(a->deliver.user, b->deliver.user);
}

static bool has_same_headers(const struct deliver_options *a, const struct deliver_options *b)
{
	size_t i = 0;

	while (i < a->n_headers && i < b->n_headers && is_same(a->headers[i], b->headers[i]))
		i++;
	return i == a->n_headers && i == b->n_headers;
}

static bool has_same_labels(const struct backend_options *a, const struct backend_options *b)
{
	size_t i = 0;

	while (i < a->n_labels && i < b->n_labels &&
	       is_same(a->labels[i].name, b->labels[i].name) &&
	       is_same(a->labels[i].value, b->labels[i].value))
		i++;
	return i == a->n_labels && i == b->n_labels;
}

bool backend_options_are_equal(const struct backend_options *a, const struct backend_options *b)
{
	const struct deliver_options *x = &a->deliver, *y = &b->deliver;

	return backend_options_are_of_one(a, b) && has_same_headers(x, y) &&
	       has_same_labels(a, b) && is_same(x->ca_file, y->ca_file) &&
	       is_same(x->certificate_file, y->certificate_file) &&
	       is_same(x->key_file, y->key_file) && x->insecure == y->insecure &&
	       is_same(x->token_file, y->token_file) && is_same(x->password_file, y->password_file);
}

static uint64_t hash(uint64_t h, const char *text)
{
	for (; text && *text; text++) /* FNV-1a */
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h;
}

static uint64_t identify(const struct backend_options *o)
{
	uint64_t h = hash(UINT64_C(0xcbf29ce484222325), o->deliver.url);

	h = hash(h, o->name);
	h = hash(h, o->deliver.tenant);
	return hash(h, o->deliver.user);
}

static int open_deliver(struct backend *b, const struct backend_options *options,
			uint64_t spool_bytes)
{
	struct deliver_options own = options->deliver;
	_cleanup_free_ char *path = NULL;

	if (b->spool &&
	    asprintf(&path, "%s/%s-%016" PRIx64, b->spool,
		     b->protocol == DELIVER_OTLP ? "otlp" : "pyroscope", identify(options)) < 0)
		return -ENOMEM;
	if (b->spool && mkdir(b->spool, 0700) < 0 && errno != EEXIST)
		return -errno;
	own.spool = path;
	own.spool_bytes = spool_bytes;
	return deliver_open(&own, &b->deliver);
}

/* A wrong URL is not said, as it may have a password. */
static void log_failure(const struct backend_options *options, int err)
{
	log_error("cannot deliver to %s: %s", err == -EINVAL ? "a backend" : options->deliver.url,
		  err == -EINVAL ? "its URL has no host, or has a user's name" :
		  err == -EBUSY  ? "another agent uses its spool" :
		  err == -ENOSYS ? "libcurl is missing" :
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
	if (copy_identity(options, &b->own) == 0 && !b->spool == !spool)
		err = open_deliver(b, options, spool_bytes);
	if (err < 0) {
		log_failure(options, err);
		backend_close(b, 0);
		return err;
	}
	*ret = b;
	return 0;
}

struct backend *backend_close(struct backend *b, uint64_t time_ns)
{
	if (!b)
		return NULL;
	deliver_stop(b->deliver, time_ns);
	free((char *)b->own.deliver.url);
	free((char *)b->own.name);
	free((char *)b->own.deliver.tenant);
	free((char *)b->own.deliver.user);
	free(b->spool);
	free(b);
	return NULL;
}

bool backend_is(const struct backend *b, const struct backend_options *options, const char *spool)
{
	return backend_options_are_of_one(&b->own, options) && is_same(b->spool, spool);
}

int backend_configure(struct backend *b, const struct backend_options *options)
{
	int err = deliver_configure(b->deliver, &options->deliver);

	if (err < 0)
		log_failure(options, err);
	return err;
}

const char *backend_name(const struct backend *b)
{
	return b->own.name ? b->own.name : b->own.deliver.url;
}

struct deliver_counts backend_counts(struct backend *b)
{
	struct deliver_counts counts;

	deliver_counts(b->deliver, &counts);
	return counts;
}

static void part_free(struct part *part)
{
	report_free(part->report);
	if (part->to)
		fclose(part->to);
	free(part->text);
	free(part);
}

static struct part_key make_key(enum kind kind, const char *service)
{
	struct part_key key;

	memset(&key, 0, sizeof(key)); /* it is compared as bytes */
	key.kind = kind;
	snprintf(key.service, sizeof(key.service), "%s", service);
	return key;
}

/* What a profile of that kind is about. */
static void narrow(struct report_context *context, enum kind kind)
{
	context->max_frames = kind == KIND_ALL ? 0 : PYROSCOPE_FRAMES;
	context->main_value = kind == KIND_WALL;
	if (kind == KIND_EVENTS)
		context->events &= ~EVENT_BIT(DP_EVENT_OFF_CPU);
	if (kind != KIND_OFF_CPU)
		return;
	context->events = EVENT_BIT(DP_EVENT_OFF_CPU);
	context->hz = 0; /* the time is measured */
}

static int part_new(struct backend_report *r, const struct part_key *key)
{
	struct report_context context = r->report.context;
	const char *format = r->backend->protocol == DELIVER_OTLP ? "otlp" : "pprof";
	struct part *part = calloc(1, sizeof(*part));
	int err = -ENOMEM;

	if (!part)
		return err;
	part->key = *key;
	narrow(&context, key->kind);
	part->to = open_memstream(&part->text, &part->size);
	if (r->backend->protocol == DELIVER_OTLP)
		context.parts = &r->limits;
	if (part->to)
		err = report_new(report_format_by_name(format), &context, part->to, &part->report);
	if (err == 0) {
		HASH_ADD(hh, r->parts, key, sizeof(part->key), part);
		if (HASH_IS_ADDED(hh, part))
			return 0;
		err = -ENOMEM;
	}
	part_free(part);
	return err;
}

static struct part *find_part(struct backend_report *r, enum kind kind, const char *service)
{
	struct part_key key = make_key(kind, kind == KIND_ALL ? "" : service);
	struct part *part;

	HASH_FIND(hh, r->parts, &key, sizeof(key), part);
	if (part)
		return part;
	if (HASH_COUNT(r->parts) >= MAX_SERVICES) {
		key = make_key(kind, OTHER_SERVICES);
		HASH_FIND(hh, r->parts, &key, sizeof(key), part);
	}
	if (!part && part_new(r, &key) == 0)
		HASH_FIND(hh, r->parts, &key, sizeof(key), part);
	return part;
}

/* The labels of a sample, and those of the backend, which are about all that it gets. */
static int add_labels(const struct backend_options *o, const struct label_set *from,
		      struct label_set **ret)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };
	struct label label;
	size_t at = 0;
	int err = 0;

	while (err == 0 && label_set_next(from, &at, &label))
		err = label_list_add(&list, &label);
	list.is_cut |= from && from->is_cut;
	for (size_t i = 0; err == 0 && i < o->n_labels; i++) {
		_cleanup_free_ char *key = NULL;

		if (asprintf(&key, REPORT_RESOURCE "%s", o->labels[i].name) < 0)
			return -ENOMEM;
		label = (struct label){ .key = key, .text = o->labels[i].value, .unit = "" };
		err = label_list_add(&list, &label);
	}
	return err == 0 ? label_set_new(&list, ret) : err;
}

static int add_to(struct backend_report *r, enum kind kind, const struct sample *sample,
		  const struct totals *totals)
{
	struct part *part = find_part(r, kind, sample->comm);

	if (!part)
		return -ENOMEM;
	totals_count(&part->totals, sample);
	part->totals.lost = totals->lost;
	return report_add(part->report, sample, &part->totals);
}

static int backend_add(struct report *report, const struct sample *sample,
		       const struct totals *totals)
{
	struct backend_report *r = (struct backend_report *)report;
	_cleanup_(label_set_freep) struct label_set *labels = NULL;
	bool is_off_cpu = sample->event == DP_EVENT_OFF_CPU;
	struct sample own = *sample;
	int err;

	if (r->backend->protocol == DELIVER_OTLP) {
		if (r->options->n_labels > 0 && add_labels(r->options, sample->labels, &labels) < 0)
			return -ENOMEM;
		own.labels = labels ? labels : sample->labels;
		return add_to(r, KIND_ALL, &own, totals);
	}
	err = add_to(r, is_off_cpu ? KIND_OFF_CPU : KIND_EVENTS, sample, totals);
	if (err == 0 && r->report.context.events & EVENT_BIT(DP_EVENT_OFF_CPU) &&
	    r->report.context.events != EVENT_BIT(DP_EVENT_OFF_CPU))
		err = add_to(r, KIND_WALL, sample, totals);
	return err;
}

/* A request is complete; what is written next belongs to another one. */
static int put_request(void *arg)
{
	struct backend_report *r = arg;
	struct part *part = r->parts;
	int err = fflush(part->to) != 0 ? -ENOMEM : 0;

	if (err == 0)
		err = deliver_put(r->backend->deliver, part->text, part->size);
	rewind(part->to);
	return err;
}

/* Pyroscope's names of labels are Prometheus's (data model, "Metric names and labels"). */
static char *make_label_name(const char *name)
{
	char *plain = strdup(name);

	for (char *at = plain; at && *at; at++)
		if (!isascii(*at) ||
		    (!isalpha(*at) && *at != '_' && (at == plain || !isdigit(*at))))
			*at = '_';
	return plain;
}

static size_t find_label(const struct deliver_label *labels, size_t n, const char *name)
{
	size_t i = 0;

	while (i < n && strcmp(labels[i].name, name) != 0)
		i++;
	return i;
}

/* Of samples by time, as its UI expects; of others, what is counted. */
static const char *kind_name(const struct report_context *context, enum kind kind)
{
	if (kind == KIND_OFF_CPU)
		return "off_cpu";
	if (kind == KIND_WALL)
		return "wall";
	if (context->n_several > 0)
		return "events";
	if (context->hz > 0)
		return "process_cpu";
	return context->counts ? context->counts : "events";
}

/* The backend's labels come before ours, but that of the type. */
static int make_labels(const struct backend_report *r, const struct part *part,
		       struct deliver_label *labels, char **names, size_t *ret)
{
	const struct backend_options *o = r->options;
	size_t n = 0;

	labels[n++] =
		(struct deliver_label){ "__name__", kind_name(&r->report.context, part->key.kind) };
	labels[n++] =
		(struct deliver_label){ "service_name",
					part->key.service[0] ? part->key.service : "unknown" };
	labels[n++] =
		(struct deliver_label){ "host",
					r->report.context.host ? r->report.context.host : "" };
	for (size_t i = 0; i < o->n_labels; i++) {
		size_t at;

		names[i] = make_label_name(o->labels[i].name);
		if (!names[i])
			return -ENOMEM;
		at = find_label(labels, n, names[i]);
		if (at == 0)
			continue;
		labels[at] = (struct deliver_label){ names[i], o->labels[i].value };
		n += at == n;
	}
	*ret = n;
	return 0;
}

static int put_profile(struct backend_report *r, struct part *part)
{
	struct deliver_label labels[BACKEND_LABELS + 3];
	char *names[BACKEND_LABELS] = { NULL };
	size_t n_labels;
	uint8_t id[16];
	int err;

	if (getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id))
		return -errno;
	if (fflush(part->to) != 0)
		return -ENOMEM;
	err = make_labels(r, part, labels, names, &n_labels);
	if (err == 0)
		err = deliver_put_pprof(r->backend->deliver, part->text, part->size, id, labels,
					n_labels);
	for (size_t i = 0; i < r->options->n_labels; i++)
		free(names[i]);
	return err;
}

/* All parts are tried. */
static int backend_finish(struct report *report, const struct totals *totals)
{
	struct backend_report *r = (struct backend_report *)report;
	int err = 0;

	for (struct part *part = r->parts; part; part = part->hh.next) {
		int own;

		part->totals.duration_ns = totals->duration_ns;
		part->totals.lost = totals->lost;
		own = report_finish(part->report, &part->totals);
		if (own == 0 && r->backend->protocol == DELIVER_PYROSCOPE)
			own = put_profile(r, part);
		if (err == 0)
			err = own;
	}
	return err;
}

static void backend_free(struct report *report)
{
	struct backend_report *r = (struct backend_report *)report;
	struct part *part, *next;

	HASH_ITER(hh, r->parts, part, next) {
		HASH_DEL(r->parts, part);
		part_free(part);
	}
	free(r);
}

int backend_report_new(struct backend *b, const struct backend_options *options,
		       const struct report_context *context, struct report **ret)
{
	struct backend_report *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->report = (struct report){ .context = *context,
				     .add = backend_add,
				     .finish = backend_finish,
				     .free = backend_free };
	r->backend = b;
	r->options = options;
	r->limits = (struct report_parts){ DELIVER_MAX_SIZE, DELIVER_MAX_SAMPLES, put_request, r };
	*ret = &r->report;
	return 0;
}
