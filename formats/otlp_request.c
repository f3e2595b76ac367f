// SPDX-License-Identifier: Apache-2.0
#include "formats/otlp_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/text.h"
#include "report/resource_label.h"

/* The semantic conventions that name the attributes, of 2026. */
#define SCHEMA_URL "https://opentelemetry.io/schemas/1.43.0"

/*
 * What else there is at most: of a resource two URLs, the scope, and the names of what is told of each
 * process; of a profile its id, types and times; of an attribute the heads of its messages.
 */
#define RESOURCE_SIZE (2 * sizeof(SCHEMA_URL) + 320)
#define PROFILE_SIZE 128
#define ATTRIBUTE_SIZE 20

struct event_sample {
	int32_t stack, link;
	const int32_t *attributes; /* in the profile's table */
	size_t n_attributes;
	uint64_t *times;
	int64_t *values; /* of each time; without times, one */
	size_t n, times_size, values_size;
};

struct event_profile {
	struct element_table identities;
	struct event_sample *samples; /* by number of the identity */
	size_t n, size;
	uint64_t first_ns, last_ns;
};

struct otlp_resource {
	UT_hash_handle hh;
	const struct module *program; /* NULL: not known */
	struct label_set *labels;
	struct event_profile profiles[VALUES_MAX];
	bool is_counted; /* in the request's size */
	size_t key_size;
	/* Compared as bytes; the labels follow */
	struct resource_key {
		int64_t pid;
		char comm[DP_COMM_SIZE + 8];
	} key;
};

int otlp_request_init(struct otlp_request *r, const struct report_context *context,
		      const struct otlp_type *types, size_t n_types)
{
	bool keeps = names_options(context->names)->demangle == NAMES_DEMANGLE_NONE;

	*r = (struct otlp_request){ .context = context, .types = types, .n_types = n_types };
	return otlp_dictionary_init(&r->dictionary, keeps);
}

static void empty_profile(struct event_profile *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->samples[i].times);
		free(p->samples[i].values);
	}
	free(p->samples);
	element_table_done(&p->identities);
	*p = (struct event_profile){ 0 };
}

void otlp_request_done(struct otlp_request *r)
{
	struct otlp_resource *resource, *next;

	HASH_ITER(hh, r->resources, resource, next) {
		HASH_DEL(r->resources, resource);
		for (size_t i = 0; i < r->n_types; i++)
			empty_profile(&resource->profiles[i]);
		label_set_free(resource->labels);
		free(resource);
	}
	otlp_dictionary_done(&r->dictionary);
}

/* The labels of a sample that belong to its resource; NULL: none. */
static int take_labels(const struct sample *sample, struct label_set **ret)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };
	struct label label;
	size_t at = 0;
	int err = 0;

	*ret = NULL;
	while (err == 0 && label_set_next(sample->labels, &at, &label))
		if (resource_label_has_key(label.key))
			err = label_list_add(&list, &label);
	return err == 0 && list.n > 0 ? label_set_new(&list, ret) : err;
}

int otlp_request_resource(struct otlp_request *r, const struct sample *sample,
			  struct otlp_resource **ret)
{
	_cleanup_(label_set_freep) struct label_set *labels = NULL;
	_cleanup_free_ struct resource_key *key = NULL;
	struct otlp_resource *resource;
	size_t size, key_size;

	if (take_labels(sample, &labels) < 0)
		return -ENOMEM;
	size = label_set_size(labels);
	key_size = sizeof(*key) + size;
	key = calloc(1, key_size);
	if (!key)
		return -ENOMEM;
	key->pid = sample->pid;
	strcpy(key->comm, sample->comm);
	if (size > 0)
		memcpy(key + 1, labels, size);
	HASH_FIND(hh, r->resources, key, key_size, resource);
	if (!resource) {
		resource = calloc(1, sizeof(*resource) + size);
		if (!resource)
			return -ENOMEM;
		memcpy(&resource->key, key, key_size);
		resource->key_size = key_size;
		HASH_ADD(hh, r->resources, key, key_size, resource);
		if (!HASH_IS_ADDED(hh, resource)) {
			free(resource);
			return -ENOMEM;
		}
		resource->labels = steal_ptr(labels);
	}
	*ret = resource;
	return 0;
}

void otlp_resource_use(struct otlp_resource *resource, const struct module *module)
{
	if (!resource->program && code_mapping_is_called(module, resource->key.comm))
		resource->program = module;
}

static int find_sample(struct otlp_request *r, struct event_profile *p,
		       const struct otlp_identity *identity, struct event_sample **ret)
{
	size_t size = (2 + identity->n_attributes) * sizeof(int32_t);
	_cleanup_free_ int32_t *key = malloc(size);
	struct event_sample *sample;
	uint32_t number;

	if (!key || array_reserve(p->samples, p->n, p->size) < 0)
		return -ENOMEM;
	key[0] = identity->stack;
	key[1] = identity->link;
	if (identity->n_attributes > 0)
		memcpy(key + 2, identity->attributes, size - 2 * sizeof(int32_t));
	if (element_table_add(&p->identities, key, size, &number) < 0)
		return -ENOMEM;
	sample = &p->samples[number];
	if (number == p->n) {
		/* The element that was added last has the numbers of the attributes. */
		const struct element *e = ELMT_FROM_HH(p->identities.elements->hh.tbl,
						       p->identities.elements->hh.tbl->tail);

		*sample = (struct event_sample){
			.stack = identity->stack,
			.link = identity->link,
			.attributes = (const int32_t *)(const void *)e->bytes + 2,
			.n_attributes = identity->n_attributes,
		};
		p->n++;
		r->n_samples++;
		r->size += 32 + 5 * identity->n_attributes;
	}
	*ret = sample;
	return 0;
}

static int add_value(struct otlp_request *r, struct event_sample *sample, bool has_times,
		     uint64_t value)
{
	if (!has_times && sample->n > 0) {
		/* Those of a recording may be any numbers. */
		sample->values[0] = (int64_t)((uint64_t)sample->values[0] + value);
		return 0;
	}
	if (array_reserve(sample->values, sample->n, sample->values_size) < 0)
		return -ENOMEM;
	sample->values[sample->n] = (int64_t)value;
	r->size += 10;
	return 0;
}

static size_t estimate_attribute(const char *key, const char *text)
{
	return ATTRIBUTE_SIZE + strlen(key) + (text ? strlen(text) : 0);
}

/* As pack_resource() packs it, and rather more. */
static size_t estimate_resource(const struct otlp_request *r, const struct otlp_resource *resource)
{
	const struct module *program = resource->program;
	size_t size = RESOURCE_SIZE + 2 * strlen(resource->key.comm), at = 0;
	struct label label;

	if (r->context->host)
		size += strlen(r->context->host);
	if (program)
		size += strlen(program->name) + strlen(program->path);
	while (label_set_next(resource->labels, &at, &label))
		size += estimate_attribute(label.key, label.text);
	return size;
}

static void count_heads(struct otlp_request *r, struct otlp_resource *resource, size_t type)
{
	if (!resource->is_counted)
		r->size += estimate_resource(r, resource);
	resource->is_counted = true;
	if (resource->profiles[type].n == 0)
		r->size += PROFILE_SIZE;
}

int otlp_request_add(struct otlp_request *r, struct otlp_resource *resource, size_t type,
		     const struct otlp_identity *identity, uint64_t time_ns, uint64_t value)
{
	struct event_profile *p = &resource->profiles[type];
	const struct otlp_type *t = &r->types[type];
	struct event_sample *sample;
	int err;

	count_heads(r, resource, type);
	err = find_sample(r, p, identity, &sample);
	if (err == 0 && t->has_values)
		err = add_value(r, sample, t->has_times, value);
	if (err < 0)
		return err;
	if (t->has_times) {
		if (array_reserve(sample->times, sample->n, sample->times_size) < 0)
			return -ENOMEM;
		sample->times[sample->n] = time_ns;
		r->size += 8;
	}
	sample->n = t->has_times ? sample->n + 1 : 1;
	if (p->first_ns == 0 || time_ns < p->first_ns)
		p->first_ns = time_ns;
	if (time_ns > p->last_ns)
		p->last_ns = time_ns;
	return 0;
}

size_t otlp_request_size(const struct otlp_request *r)
{
	return r->dictionary.packed.size + r->size;
}

/* FNV-1a of 128 bits (draft-eastlake-fnv). */
static void hash(unsigned __int128 *h, const void *data, size_t size)
{
	const unsigned __int128 prime = (unsigned __int128)1 << 88 | 0x13b;
	const uint8_t *bytes = data;

	for (size_t i = 0; i < size; i++)
		*h = (*h ^ bytes[i]) * prime;
}

/* The same for the same profile, however often it is made. */
static unsigned __int128 make_id(const struct otlp_request *r, const struct otlp_resource *resource,
				 size_t type, uint64_t duration_ns)
{
	unsigned __int128 id = (unsigned __int128)0x6c62272e07bb0142 << 64 | 0x62b821756295c58d;
	const uint64_t numbers[] = { r->context->started_real_ns, duration_ns, type, r->written };

	if (r->context->host)
		hash(&id, r->context->host, strlen(r->context->host));
	hash(&id, numbers, sizeof(numbers));
	hash(&id, &resource->key, resource->key_size);
	return id;
}

static int set_type(struct otlp_request *r, const char *name, const char *unit,
		    Otlp__ValueType *type, Otlp__ValueType **ret)
{
	int err = otlp_string(&r->dictionary, name, &type->type_strindex);

	*ret = type;
	return err == 0 ? otlp_string(&r->dictionary, unit, &type->unit_strindex) : err;
}

/* A thread may have been blocked already when the profile began. */
static void set_range(const struct otlp_request *r, const struct event_profile *p,
		      uint64_t duration_ns, Otlp__Profile *profile)
{
	uint64_t start = r->context->started_ns, end = start + duration_ns;

	if (p->first_ns < start)
		start = p->first_ns;
	if (p->last_ns >= end)
		end = p->last_ns + 1;
	profile->time_unix_nano = r->context->started_real_ns - (r->context->started_ns - start);
	profile->duration_nano = end - start;
}

static int pack_head(struct otlp_request *r, const struct otlp_resource *resource, size_t type,
		     uint64_t duration_ns, struct bytes *to)
{
	unsigned __int128 id = make_id(r, resource, type, duration_ns);
	Otlp__ValueType sample_type = OTLP__VALUE_TYPE__INIT, period_type = OTLP__VALUE_TYPE__INIT;
	Otlp__Profile profile = OTLP__PROFILE__INIT;
	const struct otlp_type *t = &r->types[type];
	int err = set_type(r, t->name, t->unit, &sample_type, &profile.sample_type);
	int32_t attribute;

	if (err == 0 && t->period_name) {
		err = set_type(r, t->period_name, t->period_unit, &period_type,
			       &profile.period_type);
		profile.period = (int64_t)t->period;
	}
	if (err < 0)
		return err;
	if (r->lost > 0 && r->written == 0) {
		const struct label lost = { .number = (int64_t)r->lost, .unit = "" };

		err = otlp_attribute(&r->dictionary, "dwarfprof.samples_lost", &lost, &attribute);
		profile.n_attribute_indices = 1;
		profile.attribute_indices = &attribute;
	}
	if (err < 0)
		return err;
	profile.profile_id = (ProtobufCBinaryData){ sizeof(id), (uint8_t *)&id };
	set_range(r, &resource->profiles[type], duration_ns, &profile);
	otlp_pack(&profile.base, to);
	return 0;
}

static void pack_sample(const struct otlp_request *r, const struct otlp_type *t,
			struct event_sample *from, struct bytes *to)
{
	Otlp__Profile profile = OTLP__PROFILE__INIT;
	Otlp__Sample sample = OTLP__SAMPLE__INIT, *samples[] = { &sample };

	/* As the clocks stood to each other when the profile began. */
	for (size_t i = 0; t->has_times && i < from->n; i++)
		from->times[i] += r->context->started_real_ns - r->context->started_ns;
	sample.stack_index = from->stack;
	sample.link_index = from->link;
	sample.n_attribute_indices = from->n_attributes;
	sample.attribute_indices = (int32_t *)from->attributes; /* only read */
	sample.n_values = t->has_values ? from->n : 0;
	sample.values = from->values;
	sample.n_timestamps_unix_nano = t->has_times ? from->n : 0;
	sample.timestamps_unix_nano = from->times;
	profile.n_samples = 1;
	profile.samples = samples;
	otlp_pack(&profile.base, to);
}

static int pack_profile(struct otlp_request *r, struct otlp_resource *resource, size_t type,
			uint64_t duration_ns, struct bytes *to)
{
	Otlp__ScopeProfiles scope = OTLP__SCOPE_PROFILES__INIT;
	struct event_profile *p = &resource->profiles[type];
	_cleanup_(bytes_done) struct bytes packed = { 0 };
	ProtobufCBinaryData profile;
	int err = pack_head(r, resource, type, duration_ns, &packed);

	for (size_t i = 0; err == 0 && i < p->n; i++)
		pack_sample(r, &r->types[type], &p->samples[i], &packed);
	if (err < 0 || packed.failed)
		return -ENOMEM;
	profile = (ProtobufCBinaryData){ packed.size, packed.data };
	scope.n_profiles = 1;
	scope.profiles = &profile;
	otlp_pack(&scope.base, to);
	return 0;
}

/*
 * Attributes of a resource while they are packed. A label replaces what we know by ourselves; with
 * an empty text, there is to be no such attribute.
 */
struct attributes {
	const struct label_set *labels;
	struct bytes packed; /* a Resource */
};

static void pack_attribute(struct attributes *a, const char *key, const char *text, int64_t number)
{
	Otlp__Resource resource = OTLP__RESOURCE__INIT;
	Otlp__KeyValue attribute = OTLP__KEY_VALUE__INIT, *attributes[] = { &attribute };
	Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;
	_cleanup_free_ char *plain_key = strdup(resource_label_plain(key)),
			    *plain = strdup(text ? text : "");

	if (!plain_key || !plain) {
		a->packed.failed = true;
		return;
	}
	text_make_plain(plain_key);
	text_make_plain(plain);
	attribute.key = plain_key;
	attribute.value = &value;
	value.value_case =
		text ? OTLP__ANY_VALUE__VALUE_STRING_VALUE : OTLP__ANY_VALUE__VALUE_INT_VALUE;
	if (text)
		value.string_value = plain;
	else
		value.int_value = number;
	resource.n_attributes = 1;
	resource.attributes = attributes;
	otlp_pack(&resource.base, &a->packed);
}

static void pack_own(struct attributes *a, const char *key, const char *text, int64_t number)
{
	struct label label;
	size_t at = 0;

	while (label_set_next(a->labels, &at, &label))
		if (strcmp(resource_label_plain(label.key), key) == 0)
			return;
	pack_attribute(a, key, text, number);
}

static void pack_attributes(const struct otlp_request *r, const struct otlp_resource *resource,
			    struct attributes *a)
{
	const struct module *program = resource->program;
	struct label label;
	size_t at = 0;

	pack_own(a, "service.name", resource->key.comm, 0);
	if (r->context->host)
		pack_own(a, "host.name", r->context->host, 0);
	if (resource->key.pid > 0) /* not of one process */
		pack_own(a, "process.pid", NULL, resource->key.pid);
	pack_own(a, "process.executable.name", program ? program->name : resource->key.comm, 0);
	if (program)
		pack_own(a, "process.executable.path", program->path, 0);
	while (label_set_next(resource->labels, &at, &label))
		if (!label.text || *label.text)
			pack_attribute(a, label.key, label.text, label.number);
}

/* The profiles of a resource have one scope: us. */
static int pack_scope(struct otlp_request *r, struct otlp_resource *resource, uint64_t duration_ns,
		      struct bytes *to)
{
	Otlp__ScopeProfiles scope = OTLP__SCOPE_PROFILES__INIT;
	Otlp__InstrumentationScope who = OTLP__INSTRUMENTATION_SCOPE__INIT;
	int err = 0;

	who.name = (char *)"dwarfprof"; /* only read */
	who.version = (char *)DP_VERSION;
	scope.scope = &who;
	scope.schema_url = (char *)SCHEMA_URL;
	otlp_pack(&scope.base, to);
	for (size_t i = 0; err == 0 && i < r->n_types; i++)
		if (resource->profiles[i].n > 0)
			err = pack_profile(r, resource, i, duration_ns, to);
	return err;
}

static int pack_resource(struct otlp_request *r, struct otlp_resource *resource,
			 uint64_t duration_ns, struct bytes *to)
{
	Otlp__ExportProfilesServiceRequest request = OTLP__EXPORT_PROFILES_SERVICE_REQUEST__INIT;
	Otlp__ResourceProfiles of = OTLP__RESOURCE_PROFILES__INIT;
	_cleanup_(bytes_done) struct bytes packed = { 0 }, scope = { 0 };
	struct attributes a = { .labels = resource->labels };
	ProtobufCBinaryData data;
	int err = pack_scope(r, resource, duration_ns, &scope);

	if (err == 0)
		pack_attributes(r, resource, &a);
	of.resource = (ProtobufCBinaryData){ a.packed.size, a.packed.data };
	of.scope_profiles = (ProtobufCBinaryData){ scope.size, scope.data };
	of.schema_url = (char *)SCHEMA_URL; /* only read */
	otlp_pack(&of.base, &packed);
	if (scope.failed || a.packed.failed || packed.failed)
		err = -ENOMEM;
	bytes_done(&a.packed);
	data = (ProtobufCBinaryData){ packed.size, packed.data };
	request.n_resource_profiles = 1;
	request.resource_profiles = &data;
	if (err == 0)
		otlp_pack(&request.base, to);
	return err;
}

static bool has_samples(const struct otlp_request *r, const struct otlp_resource *resource)
{
	for (size_t i = 0; i < r->n_types; i++)
		if (resource->profiles[i].n > 0)
			return true;
	return false;
}

static int pack_request(struct otlp_request *r, uint64_t duration_ns, struct bytes *to)
{
	Otlp__ExportProfilesServiceRequest request = OTLP__EXPORT_PROFILES_SERVICE_REQUEST__INIT;
	struct otlp_resource *resource, *next;
	int err = 0;

	HASH_ITER(hh, r->resources, resource, next)
		if (err == 0 && has_samples(r, resource))
			err = pack_resource(r, resource, duration_ns, to);
	request.dictionary =
		(ProtobufCBinaryData){ r->dictionary.packed.size, r->dictionary.packed.data };
	if (err == 0)
		otlp_pack(&request.base, to);
	return err == 0 && (to->failed || r->dictionary.packed.failed) ? -ENOMEM : err;
}

static int begin_again(struct otlp_request *r)
{
	bool keeps = r->dictionary.keeps_linker_names;
	struct otlp_resource *resource, *next;

	HASH_ITER(hh, r->resources, resource, next) {
		resource->is_counted = false;
		for (size_t i = 0; i < r->n_types; i++)
			empty_profile(&resource->profiles[i]);
	}
	otlp_dictionary_done(&r->dictionary);
	r->n_samples = r->size = 0;
	r->written++;
	return otlp_dictionary_init(&r->dictionary, keeps);
}

int otlp_request_write(struct otlp_request *r, uint64_t duration_ns, FILE *to)
{
	_cleanup_(bytes_done) struct bytes packed = { 0 };
	int err;

	err = pack_request(r, duration_ns, &packed);
	if (err < 0)
		return err;
	if (fwrite(packed.data, 1, packed.size, to) != packed.size)
		return -EIO;
	return begin_again(r);
}
