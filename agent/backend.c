// SPDX-License-Identifier: Apache-2.0
#include "agent/backend.h"

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
	char *url, *spool;
};

/* A part of a report: all of it, or a service's. */
struct part {
	UT_hash_handle hh; /* by service */
	char service[DP_COMM_SIZE + 1];
	struct report *report;
	struct totals totals;
	char *text;
	size_t size;
	FILE *to;
};

struct backend_report {
	struct report report;
	struct backend *backend;
	struct report_parts limits;
	struct part *parts;
};

static uint64_t hash(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h;
}

static int open_deliver(struct backend *b, uint64_t spool_bytes)
{
	struct deliver_options options = { .protocol = b->protocol,
					   .url = b->url,
					   .spool_bytes = spool_bytes };
	_cleanup_free_ char *path = NULL;

	if (b->spool &&
	    asprintf(&path, "%s/%s-%016" PRIx64, b->spool,
		     b->protocol == DELIVER_OTLP ? "otlp" : "pyroscope", hash(b->url)) < 0)
		return -ENOMEM;
	if (b->spool && mkdir(b->spool, 0700) < 0 && errno != EEXIST)
		return -errno;
	options.spool = path;
	return deliver_open(&options, &b->deliver);
}

int backend_open(const struct backend_options *options, const char *spool, uint64_t spool_bytes,
		 struct backend **ret)
{
	struct backend *b = calloc(1, sizeof(*b));
	int err = -ENOMEM;

	*ret = NULL;
	if (!b)
		return err;
	b->protocol = options->protocol;
	b->url = strdup(options->url);
	b->spool = spool ? strdup(spool) : NULL;
	if (b->url && !b->spool == !spool)
		err = open_deliver(b, spool_bytes);
	if (err < 0) {
		/* A wrong URL is not said, as it may have a password. */
		log_error("cannot deliver to %s: %s", err == -EINVAL ? "a backend" : options->url,
			  err == -EINVAL ? "its URL has no host, or has a user's name" :
			  err == -EBUSY  ? "another agent uses its spool" :
			  err == -ENOSYS ? "libcurl is missing" :
					   strerror(-err));
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
	free(b->url);
	free(b->spool);
	free(b);
	return NULL;
}

bool backend_is(const struct backend *b, const struct backend_options *options, const char *spool)
{
	return b->protocol == options->protocol && strcmp(b->url, options->url) == 0 &&
	       (b->spool && spool ? strcmp(b->spool, spool) == 0 : !b->spool == !spool);
}

const char *backend_url(const struct backend *b)
{
	return b->url;
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

static int part_new(struct backend_report *r, const char *service)
{
	struct report_context context = r->report.context;
	const char *format = r->backend->protocol == DELIVER_OTLP ? "otlp" : "pprof";
	struct part *part = calloc(1, sizeof(*part));
	int err = -ENOMEM;

	if (!part)
		return err;
	snprintf(part->service, sizeof(part->service), "%s", service);
	part->to = open_memstream(&part->text, &part->size);
	if (r->backend->protocol == DELIVER_OTLP)
		context.parts = &r->limits;
	if (part->to)
		err = report_new(report_format_by_name(format), &context, part->to, &part->report);
	if (err == 0) {
		HASH_ADD_STR(r->parts, service, part);
		if (HASH_IS_ADDED(hh, part))
			return 0;
		err = -ENOMEM;
	}
	part_free(part);
	return err;
}

static struct part *find_part(struct backend_report *r, const char *service)
{
	struct part *part;

	if (r->backend->protocol == DELIVER_OTLP)
		service = "";
	HASH_FIND_STR(r->parts, service, part);
	if (part)
		return part;
	if (HASH_COUNT(r->parts) >= MAX_SERVICES) {
		service = OTHER_SERVICES;
		HASH_FIND_STR(r->parts, service, part);
	}
	if (!part && part_new(r, service) == 0)
		HASH_FIND_STR(r->parts, service, part);
	return part;
}

static int backend_add(struct report *report, const struct sample *sample,
		       const struct totals *totals)
{
	struct backend_report *r = (struct backend_report *)report;
	struct part *part = find_part(r, sample->comm);

	if (!part)
		return -ENOMEM;
	totals_count(&part->totals, sample);
	part->totals.lost = totals->lost;
	return report_add(part->report, sample, &part->totals);
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

static int put_profile(struct backend_report *r, struct part *part)
{
	const struct deliver_label labels[] = {
		{ "__name__", "process_cpu" },
		{ "service_name", part->service[0] ? part->service : "unknown" },
		{ "host", r->report.context.host ? r->report.context.host : "" },
	};
	uint8_t id[16];

	if (getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id))
		return -errno;
	if (fflush(part->to) != 0)
		return -ENOMEM;
	return deliver_put_pprof(r->backend->deliver, part->text, part->size, id, labels,
				 sizeof(labels) / sizeof(labels[0]));
}

/* All parts are tried. */
static int backend_finish(struct report *report, const struct totals *totals)
{
	struct backend_report *r = (struct backend_report *)report;
	int err = 0;

	for (struct part *part = r->parts; part; part = part->hh.next) {
		int own;

		part->totals.duration_ns = totals->duration_ns;
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

int backend_report_new(struct backend *b, const struct report_context *context, struct report **ret)
{
	struct backend_report *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->report = (struct report){ .context = *context,
				     .add = backend_add,
				     .finish = backend_finish,
				     .free = backend_free };
	r->backend = b;
	r->limits = (struct report_parts){ DELIVER_MAX_SIZE, DELIVER_MAX_SAMPLES, put_request, r };
	*ret = &r->report;
	return 0;
}
