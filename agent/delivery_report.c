// SPDX-License-Identifier: Apache-2.0
#include "agent/delivery_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agent/named_labels.h"
#include "agent/pyroscope_labels.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "formats/report_format.h"
#include "log/clock.h"
#include "report/resource_label.h"

/* Pyroscope cuts deeper stacks at the leaf (pkg/pprof, max_profile_stacktrace_depth). */
#define PYROSCOPE_FRAMES 1000

/* Each of Pyroscope's profiles is of one kind, which it tells by `__name__`. */
enum kind { KIND_ALL, KIND_EVENTS, KIND_OFF_CPU, KIND_WALL };

/* A part of a report: all of it, or a kind of samples with a set of labels. */
struct part {
	UT_hash_handle hh; /* by key */
	struct delivery_report *of;
	struct report *report;
	struct report_parts limits;
	struct totals totals;
	char *text;
	size_t size;
	FILE *to;
	struct part_key {
		uint64_t kind;
		char labels[]; /* a struct label_set */
	} key;
};

struct delivery_report {
	struct report report;
	struct delivery delivery;
	struct series_options series_options;
	struct series *series;
	struct part *parts;
};

static void part_free(struct part *part)
{
	report_free(part->report);
	if (part->to)
		fclose(part->to);
	free(part->text);
	free(part);
}

/* A request is complete; what is written next belongs to another one. */
static int put_request(void *arg, uint64_t n_events)
{
	struct part *part = arg;
	int err = fflush(part->to) != 0 ? -ENOMEM : 0;

	if (err == 0)
		err = deliver_put(part->of->delivery.deliver, part->text, part->size, n_events);
	rewind(part->to);
	return err;
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

/* Pyroscope's names of labels are Prometheus's. It takes no profile without a service. */
static int make_labels(const struct delivery_report *r, const struct part *part,
		       struct named_labels *ret)
{
	const struct label_set *set = (const struct label_set *)(const void *)part->key.labels;
	struct label label;
	size_t at = 0;
	int err = 0;

	while (err == 0 && label_set_next(set, &at, &label))
		if (label.text)
			err = named_labels_set(ret, resource_label_plain(label.key), label.text);
	if (err == 0 && !*named_labels_get(ret, "service.name"))
		err = named_labels_set(ret, "service.name", "unknown");
	if (err == 0)
		err = named_labels_set(ret, "__name__",
				       kind_name(&r->report.context, (enum kind)part->key.kind));
	return err;
}

/* Each is another profile, with an id of its own. */
static int put_one(struct part *part, uint64_t n_events)
{
	struct delivery_report *r = part->of;
	_cleanup_(named_labels_done) struct named_labels named = { 0 };
	struct deliver_label labels[NAMED_LABELS_MAX];
	uint8_t id[16];

	if (getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id))
		return -EIO;
	if (fflush(part->to) != 0 || make_labels(r, part, &named) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < named.n; i++)
		labels[i] = (struct deliver_label){ named.items[i].name, named.items[i].value };
	return deliver_put_pprof(r->delivery.deliver, part->text, part->size, n_events, id, labels,
				 named.n);
}

/* The next one begins anew, whatever became of this one. */
static int put_profile(void *arg, uint64_t n_events)
{
	struct part *part = arg;
	int err = put_one(part, n_events);

	rewind(part->to);
	return err;
}

/* What a profile of that kind is about. */
static void narrow(const struct delivery *delivery, enum kind kind, struct report_context *context)
{
	context->max_frames = delivery->max_frames > 0 || kind == KIND_ALL ? delivery->max_frames :
									     PYROSCOPE_FRAMES;
	context->for_pyroscope = kind != KIND_ALL;
	context->main_value = kind == KIND_WALL;
	if (kind == KIND_EVENTS)
		context->events &= ~EVENT_BIT(DP_EVENT_OFF_CPU);
	if (kind != KIND_OFF_CPU)
		return;
	context->events = EVENT_BIT(DP_EVENT_OFF_CPU);
	context->hz = 0; /* the time is measured */
}

static int open_part(struct delivery_report *r, struct part *part)
{
	struct report_context context = r->report.context;
	const char *format = r->delivery.protocol == DELIVER_OTLP ? "otlp" : "pprof";

	narrow(&r->delivery, (enum kind)part->key.kind, &context);
	part->to = open_memstream(&part->text, &part->size);
	if (!part->to)
		return -ENOMEM;
	part->of = r;
	part->limits = (struct report_parts){ DELIVER_MAX_SIZE, DELIVER_MAX_SAMPLES,
					      r->delivery.protocol == DELIVER_OTLP ? put_request :
										     put_profile,
					      part };
	context.parts = &part->limits;
	return report_new(report_format_by_name(format), &context, part->to, &part->report);
}

/* labels: NULL for all. */
static struct part *find_part(struct delivery_report *r, enum kind kind,
			      const struct label_set *labels)
{
	size_t labels_size = label_set_size(labels), size = sizeof(struct part_key) + labels_size;
	struct part *part = calloc(1, sizeof(*part) + labels_size), *found;

	if (!part)
		return NULL;
	part->key.kind = kind;
	if (labels)
		memcpy(part->key.labels, labels, labels_size);
	HASH_FIND(hh, r->parts, &part->key, size, found);
	if (!found && open_part(r, part) == 0) {
		HASH_ADD(hh, r->parts, key, size, part);
		if (HASH_IS_ADDED(hh, part))
			return part;
	}
	part_free(part);
	return found;
}

static int add_to(struct delivery_report *r, enum kind kind, const struct label_set *labels,
		  const struct sample *sample, const struct totals *totals)
{
	struct part *part = find_part(r, kind, labels);

	if (!part)
		return -ENOMEM;
	totals_count(&part->totals, sample);
	part->totals.lost = totals->lost;
	return report_add(part->report, sample, &part->totals);
}

/* A resource's labels are among those of its samples. */
static int add_otlp(struct delivery_report *r, const struct series_sample *of,
		    struct sample *sample, const struct totals *totals)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };
	_cleanup_(label_set_freep) struct label_set *labels = NULL;
	struct label label;
	size_t at = 0;
	int err = 0;

	sample->labels = of->profile;
	if (of->sample) {
		list.is_cut = of->sample->is_cut;
		while (err == 0 && label_set_next(of->sample, &at, &label))
			err = label_list_add(&list, &label);
		at = 0;
		while (err == 0 && label_set_next(of->profile, &at, &label))
			err = label_list_add(&list, &label);
		if (err == 0)
			err = label_set_new(&list, &labels);
		sample->labels = labels;
	}
	return err == 0 ? add_to(r, KIND_ALL, NULL, sample, totals) : err;
}

/* What is in no label tells no samples apart. */
static void forget_thread(struct sample *sample)
{
	sample->pid = 0;
	sample->tid = 0;
	sample->cpu = 0;
	*sample->comm = '\0';
	*sample->thread_name = '\0';
}

static int add_pyroscope(struct delivery_report *r, const struct series_sample *of,
			 struct sample *sample, const struct totals *totals)
{
	_cleanup_(label_set_freep) struct label_set *labels = NULL;
	bool is_off_cpu = sample->event == DP_EVENT_OFF_CPU;
	unsigned int events = r->report.context.events;
	int err = pyroscope_labels_all(of->sample, sample, of->kept == SERIES_ALL, &labels);

	if (err < 0)
		return err;
	sample->labels = labels;
	forget_thread(sample);
	err = add_to(r, is_off_cpu ? KIND_OFF_CPU : KIND_EVENTS, of->profile, sample, totals);
	if (err == 0 && events & EVENT_BIT(DP_EVENT_OFF_CPU) &&
	    events != EVENT_BIT(DP_EVENT_OFF_CPU))
		err = add_to(r, KIND_WALL, of->profile, sample, totals);
	return err;
}

/* One that is folded is of no process, and no attribute tells it apart that no set counts. */
static void fold(struct sample *sample, enum series_kept kept)
{
	sample->pid = sample->tid = 0;
	sample->is_folded = true;
	if (kept >= SERIES_COMM)
		strcpy(sample->thread_name, SERIES_OTHER);
	if (kept >= SERIES_SERVICE)
		strcpy(sample->comm, SERIES_OTHER);
}

static int delivery_add(struct report *report, const struct sample *sample,
			const struct totals *totals)
{
	struct delivery_report *r = (struct delivery_report *)report;
	struct sample own = *sample;
	struct series_sample of;
	int err = series_find(r->series, sample, &of);

	if (err < 0)
		return err;
	if (of.is_dropped) {
		atomic_fetch_add(&r->delivery.counts->dropped, 1);
		return 0;
	}
	atomic_fetch_add(&r->delivery.counts->kept[of.kept], 1);
	if (of.kept != SERIES_ALL)
		fold(&own, of.kept);
	return r->delivery.protocol == DELIVER_OTLP ? add_otlp(r, &of, &own, totals) :
						      add_pyroscope(r, &of, &own, totals);
}

/* All parts are tried. */
static int delivery_finish(struct report *report, const struct totals *totals)
{
	struct delivery_report *r = (struct delivery_report *)report;
	int err = 0;

	for (struct part *part = r->parts; part; part = part->hh.next) {
		int own;

		part->totals.duration_ns = totals->duration_ns;
		part->totals.lost = totals->lost;
		own = report_finish(part->report, &part->totals);
		if (err == 0)
			err = own;
	}
	return err;
}

static void delivery_free(struct report *report)
{
	struct delivery_report *r = (struct delivery_report *)report;
	struct part *part, *next;

	HASH_ITER(hh, r->parts, part, next) {
		HASH_DEL(r->parts, part);
		part_free(part);
	}
	series_free(r->series);
	free(r);
}

int delivery_report_new(const struct delivery *delivery, const struct report_context *context,
			struct report **ret)
{
	struct delivery_report *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->report = (struct report){ .context = *context,
				     .add = delivery_add,
				     .finish = delivery_finish,
				     .free = delivery_free };
	r->delivery = *delivery;
	r->series_options = (struct series_options){
		.host = context->host ? context->host : "",
		.labels = delivery->labels,
		.n_labels = delivery->n_labels,
		.all_rules = delivery->all_rules,
		.own_rules = delivery->own_rules,
		.by_process = delivery->protocol == DELIVER_OTLP,
		.max_sets = delivery->max_label_sets,
		.memory = delivery->memory,
		.now_ns = clock_now_ns(),
	};
	if (series_new(&r->series_options, &r->series) < 0) {
		free(r);
		return -ENOMEM;
	}
	*ret = &r->report;
	return 0;
}
