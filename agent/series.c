// SPDX-License-Identifier: Apache-2.0
#include "agent/series.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/named_labels.h"
#include "agent/process_labels.h"
#include "agent/pyroscope_labels.h"
#include "agent/relabel.h"
#include "agent/series_memory.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "deliver/deliver.h"
#include "report/report.h"
#include "report/resource_label.h"

/* For each set of labels, so many sources of samples are remembered; then all are forgotten. */
#define SOURCES 16

/*
 * The key of a profile's samples, followed by a label set. Fields that no relabel rule reads are zero, so
 * that they do not split the profile.
 */
struct source_key {
	int64_t pid;
	char comm[DP_COMM_SIZE + 8];
	char thread_name[DP_COMM_SIZE + 8];
};

/* Samples with the same key have the same profile. */
struct source {
	UT_hash_handle hh;
	struct label_set *profile; /* NULL: a rule drops them */
	struct label_set *service; /* the same without facts about the process */
	char key[];                /* struct source_key and a label set */
};

/*
 * What else tells resources (otlp_request.h) and samples apart, of which Pyroscope makes series, also of
 * OpenTelemetry's; all zero: nothing.
 */
struct set_key {
	int64_t pid;
	int64_t state; /* of threads off the CPU */
	char comm[DP_COMM_SIZE + 8];
	char thread_name[DP_COMM_SIZE + 8];
};

struct series {
	const struct series_options *options;
	bool reads_pid, reads_thread; /* the rules */
	struct source *sources;
	struct series_memory *memory, *own_memory;
	struct label_set *other;
	struct label_set *own;   /* of the last sample */
	struct label_set *event; /* the one of them that tells which event it is of */
};

static void source_free(struct source *source)
{
	label_set_free(source->profile);
	label_set_free(source->service);
	free(source);
}
DEFINE_CLEANUP(struct source *, source_free)

/* Whatever its key, it is about the resource. */
static int put_label(struct label_list *list, const char *key, const char *value)
{
	_cleanup_free_ char *marked = NULL;

	if (resource_label_has_key(key))
		return label_list_add(list, &(struct label){ .key = key, .text = value });
	if (asprintf(&marked, REPORT_RESOURCE "%s", key) < 0)
		return -ENOMEM;
	return label_list_add(list, &(struct label){ .key = marked, .text = value });
}

/*
 * `process`: labels of which those go along that are about the process; NULL: none. A label that a
 * profile would have by itself is empty if it is to have none.
 */
static int put_labels(const struct named_labels *from, const struct label_set *process,
		      struct label_set **ret)
{
	static const char *const usual[] = { "service.name", "host.name" };
	_cleanup_(label_list_done) struct label_list list = { 0 };
	struct label label;
	size_t at = 0;
	int err = 0;

	while (err == 0 && label_set_next(process, &at, &label))
		if (named_label_is_fact(label.key) || !label.text)
			err = label_list_add(&list, &label);
	for (size_t i = 0; err == 0 && i < from->n; i++)
		if (!named_label_is_internal(&from->items[i]) &&
		    !named_label_is_fact(from->items[i].key))
			err = put_label(&list, from->items[i].key, from->items[i].value);
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(usual); i++)
		if (!*named_labels_get(from, usual[i]))
			err = put_label(&list, usual[i], "");
	return err == 0 ? label_set_new(&list, ret) : err;
}

/* The backend's labels come before others. */
static int add_labels(const struct series_options *o, struct named_labels *to)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < o->n_labels; i++)
		err = named_labels_set(to, o->labels[i].name, o->labels[i].value);
	return err;
}

static int make_other(struct series *s)
{
	_cleanup_(named_labels_done) struct named_labels labels = { 0 };
	int err = named_labels_set(&labels, "host.name", s->options->host);

	if (err == 0)
		err = add_labels(s->options, &labels);
	if (err == 0)
		err = named_labels_set(&labels, "service.name", SERIES_OTHER);
	if (!s->options->by_process)
		pyroscope_labels_bound(&labels);
	return err == 0 ? put_labels(&labels, NULL, &s->other) : err;
}

static bool rules_read(const struct series_options *o, const char *name)
{
	return relabel_reads(o->all_rules, name) || relabel_reads(o->own_rules, name);
}

static void forget_sources(struct series *s)
{
	struct source *source, *next;

	HASH_ITER(hh, s->sources, source, next) {
		HASH_DEL(s->sources, source);
		source_free(source);
	}
}

int series_new(const struct series_options *options, struct series **ret)
{
	struct series *s = calloc(1, sizeof(*s));

	*ret = NULL;
	if (!s)
		return -ENOMEM;
	s->options = options;
	s->reads_pid = rules_read(options, "__meta_process_pid");
	s->reads_thread = rules_read(options, "__meta_thread_name");
	s->memory = options->memory;
	if (make_other(s) < 0 || (!s->memory && series_memory_new(&s->own_memory) < 0)) {
		series_free(s);
		return -ENOMEM;
	}
	if (!s->memory)
		s->memory = s->own_memory;
	series_memory_forget(s->memory, options->now_ns);
	*ret = s;
	return 0;
}

struct series *series_free(struct series *s)
{
	if (!s)
		return NULL;
	forget_sources(s);
	series_memory_free(s->own_memory);
	label_set_free(s->other);
	label_set_free(s->own);
	label_set_free(s->event);
	free(s);
	return NULL;
}

/* Labels about the process, and the others. */
static int split(const struct label_set *from, struct label_set **ret_process,
		 struct label_set **ret_own)
{
	_cleanup_(label_list_done) struct label_list process = { 0 }, own = { 0 };
	struct label label;
	size_t at = 0;
	int err = 0;

	*ret_process = *ret_own = NULL;
	while (err == 0 && label_set_next(from, &at, &label))
		err = label_list_add(resource_label_has_key(label.key) ? &process : &own, &label);
	own.is_cut = from && from->is_cut;
	if (err == 0)
		err = label_set_new(&process, ret_process);
	if (err == 0 && (own.n > 0 || own.is_cut))
		err = label_set_new(&own, ret_own);
	return err;
}

/* How many labels a profile may have before the backend adds its own. */
static size_t find_room(const struct series_options *o)
{
	return o->by_process                          ? NAMED_LABELS_MAX :
	       o->n_labels < PYROSCOPE_PROFILE_LABELS ? PYROSCOPE_PROFILE_LABELS - o->n_labels :
							0;
}

static bool is_service(const struct label *label)
{
	return strcmp(resource_label_plain(label->key), "service.name") == 0;
}

/* What is no fact. */
static int add_programs(const struct label *label, struct named_labels *to)
{
	int err = process_label_is_fact(label->key);

	return err != 0 ?
		       (err < 0 ? err : 0) :
		       named_labels_set_programs(to, resource_label_plain(label->key), label->text);
}

/* First the facts, as a program may set as many others as there is room for. */
static int add_process(const struct series_options *o, const struct label_set *process,
		       struct named_labels *to)
{
	struct label label;
	size_t at = 0;
	int err = 0;

	while (err >= 0 && label_set_next(process, &at, &label)) {
		err = label.text ? process_label_is_fact(label.key) : false;
		if (err > 0)
			err = named_labels_set(to, label.key, label.text);
	}
	at = 0;
	while (err >= 0 && label_set_next(process, &at, &label))
		if (label.text && is_service(&label))
			err = named_labels_set(to, resource_label_plain(label.key), label.text);
		else if (label.text && pyroscope_labels_count(to) < find_room(o))
			err = add_programs(&label, to);
	return err < 0 ? err : 0;
}

/* What is only for rules. */
static int add_internal(const struct sample *sample, struct named_labels *to)
{
	char pid[16];
	int err = named_labels_set(to, "__meta_process_comm", sample->comm);

	snprintf(pid, sizeof(pid), "%d", sample->pid);
	if (err == 0)
		err = named_labels_set(to, "__meta_process_pid", pid);
	return err == 0 ? named_labels_set(to, "__meta_thread_name", sample->thread_name) : err;
}

static int find_labels(const struct series *s, const struct sample *sample,
		       const struct label_set *process, struct named_labels *to, bool *ret_keep)
{
	const struct series_options *o = s->options;
	int err = named_labels_set(to, "service.name", sample->comm);

	if (err == 0)
		err = named_labels_set(to, "host.name", o->host);
	if (err == 0)
		err = add_internal(sample, to);
	if (err == 0)
		err = add_process(o, process, to);
	if (err == 0)
		err = relabel_apply(o->all_rules, to, ret_keep);
	if (err == 0 && *ret_keep)
		err = add_labels(o, to);
	if (err == 0 && *ret_keep)
		err = relabel_apply(o->own_rules, to, ret_keep);
	if (!o->by_process)
		pyroscope_labels_bound(to);
	return err;
}

/* Sets what follows of a source. */
static int make_profile(const struct series *s, const struct sample *sample,
			const struct label_set *process, struct source *source)
{
	_cleanup_(named_labels_done) struct named_labels labels = { 0 };
	bool keep = true;
	int err = find_labels(s, sample, process, &labels, &keep);

	if (err < 0 || !keep)
		return err;
	err = put_labels(&labels, NULL, &source->service);
	if (err < 0)
		return err;
	return put_labels(&labels, s->options->by_process ? process : NULL, &source->profile);
}

static int find_source(struct series *s, const struct sample *sample,
		       const struct label_set *process, const struct source **ret)
{
	size_t labels_size = label_set_size(process),
	       size = sizeof(struct source_key) + labels_size;
	_cleanup_(source_freep) struct source *made = calloc(1, sizeof(*made) + size);
	struct source_key key = { 0 };
	struct source *source;
	int err;

	if (!made)
		return -ENOMEM;
	snprintf(key.comm, sizeof(key.comm), "%s", sample->comm);
	if (s->reads_pid)
		key.pid = sample->pid;
	if (s->reads_thread)
		snprintf(key.thread_name, sizeof(key.thread_name), "%s", sample->thread_name);
	memcpy(made->key, &key, sizeof(key));
	memcpy(made->key + sizeof(key), process, labels_size);
	HASH_FIND(hh, s->sources, made->key, size, source);
	if (!source) {
		err = make_profile(s, sample, process, made);
		if (err < 0)
			return err;
		if (HASH_COUNT(s->sources) / SOURCES >= s->options->max_sets)
			forget_sources(s);
		HASH_ADD(hh, s->sources, key, size, made);
		if (!HASH_IS_ADDED(hh, made))
			return -ENOMEM;
		source = steal_ptr(made);
	}
	*ret = source;
	return 0;
}

/* Numbers of spans are no labels to search for, and each event has its own values. NULL: none. */
static int count_labels(const struct label_set *own, struct label_set **ret)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };
	struct label label;
	size_t at = 0;
	int err = 0;

	while (err == 0 && label_set_next(own, &at, &label))
		if (!label_is_of_span(label.key) && strcmp(label.key, REPORT_EVENT) != 0)
			err = label_list_add(&list, &label);
	return err == 0 && list.n > 0 ? label_set_new(&list, ret) : err;
}

/* Also those that keep nothing else. */
static int keep_event(struct series *s)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };
	struct label label;
	size_t at = 0;
	int err = 0;

	s->event = label_set_free(s->event);
	while (err == 0 && label_set_next(s->own, &at, &label))
		if (strcmp(label.key, REPORT_EVENT) == 0)
			err = label_list_add(&list, &label);
	return err == 0 && list.n > 0 ? label_set_new(&list, &s->event) : err;
}

/*
 * Whether the backend has this set, or gets it as one of at most `max`, and of those of a service
 * (NULL: of none's). 0 or -ENOMEM.
 */
static int use_set(const struct series *s, const struct set_key *key,
		   const struct label_set *profile, const struct label_set *own,
		   const struct label_set *service, size_t max, bool *ret)
{
	size_t profile_size = label_set_size(profile), own_size = label_set_size(own),
	       size = sizeof(*key) + profile_size + own_size;
	_cleanup_free_ char *bytes = malloc(size);
	const struct series_set set = { bytes, size, service };

	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, key, sizeof(*key));
	memcpy(bytes + sizeof(*key), profile, profile_size);
	if (own)
		memcpy(bytes + sizeof(*key) + profile_size, own, own_size);
	return series_memory_use(s->memory, &set, max, s->options->now_ns, ret);
}

/* The same for one that keeps only names: a quarter of a part for each. */
static size_t find_limit_of_names(const struct series *s, const struct label_set *service,
				  enum series_kept kept)
{
	size_t n = series_memory_of(s->memory, service);
	size_t max = s->options->max_sets, part = max / SERIES_PARTS;
	size_t room = part + (kept == SERIES_THREAD ? part / 4 : part / 2);

	return n > 0 && n < room ? max - part : 0;
}

/*
 * The most sets with which a sample still gets one of its own. A program makes up labels, and a
 * service starts processes: it gets a part, and another part is for the first of other services.
 */
static size_t find_limit(const struct series *s, const struct label_set *service,
			 const struct label_set *own)
{
	size_t max = s->options->max_sets, part = max / SERIES_PARTS,
	       n = series_memory_of(s->memory, service);

	if (!own && n == 0)
		return max;
	return n == 0 || n < part ? max - part : 0;
}

/* With as many labels as there is room for, sets *ret and counts the set. 0 or -ENOMEM. */
static int try_set(struct series *s, const struct set_key *key, const struct source *source,
		   const struct label_set *own, size_t limit, enum series_kept kept,
		   struct series_sample *ret)
{
	const struct label_set *profile = kept == SERIES_ALL ? source->profile : source->service;
	const struct label_set *service = kept == SERIES_SERVICE ? NULL : source->service;
	bool has_set = false;
	int err = use_set(s, key, profile, own, service, limit, &has_set);

	if (err < 0 || !has_set)
		return err;
	*ret = (struct series_sample){ .profile = profile,
				       .sample = kept == SERIES_ALL ? s->own : s->event,
				       .kept = kept };
	return 0;
}

/* Sets what the backend gets as labels. 0 or -ENOMEM. */
static int find_set(struct series *s, const struct sample *sample, const struct source *source,
		    struct series_sample *ret)
{
	_cleanup_(label_set_freep) struct label_set *own = NULL;
	struct set_key key = { .pid = s->options->by_process ? sample->pid : 0,
			       .state = sample->event == DP_EVENT_OFF_CPU ? 1 + sample->state : 0 };
	int err = count_labels(s->own, &own);

	snprintf(key.comm, sizeof(key.comm), "%s", sample->comm);
	snprintf(key.thread_name, sizeof(key.thread_name), "%s", sample->thread_name);
	*ret = (struct series_sample){ .profile = s->other,
				       .sample = s->event,
				       .kept = SERIES_NOTHING };
	for (enum series_kept kept = SERIES_ALL;
	     err == 0 && ret->kept == SERIES_NOTHING && kept < SERIES_NOTHING; kept++) {
		size_t limit = kept == SERIES_ALL ? find_limit(s, source->service, own) :
			       kept == SERIES_SERVICE ?
						    s->options->max_sets :
						    find_limit_of_names(s, source->service, kept);

		if (kept == SERIES_THREAD) {
			key.pid = key.state = 0;
		} else if (kept == SERIES_COMM) {
			memset(key.thread_name, 0, sizeof(key.thread_name));
		} else if (kept == SERIES_SERVICE) {
			key = (struct set_key){ 0 };
		}
		err = try_set(s, &key, source, kept == SERIES_ALL ? own : NULL, limit, kept, ret);
	}
	return err;
}

/* The labels of the sample as Pyroscope gets them. */
static int make_valid(struct series *s, const struct source *source)
{
	struct label_set *made;
	int err = pyroscope_labels_make(s->own, source->profile, &made);

	label_set_free(s->own);
	s->own = err == 0 ? made : NULL;
	return err;
}

int series_find(struct series *s, const struct sample *sample, struct series_sample *ret)
{
	_cleanup_(label_set_freep) struct label_set *process = NULL;
	const struct source *source = NULL;
	int err;

	s->own = label_set_free(s->own);
	err = split(sample->labels, &process, &s->own);
	if (err == 0)
		err = find_source(s, sample, process, &source);
	*ret = (struct series_sample){ .is_dropped = err == 0 && !source->profile };
	if (err < 0 || ret->is_dropped)
		return err;
	if (!s->options->by_process)
		err = make_valid(s, source);
	if (err == 0)
		err = keep_event(s);
	return err == 0 ? find_set(s, sample, source, ret) : err;
}
