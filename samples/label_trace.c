// SPDX-License-Identifier: Apache-2.0
/*
 * The span that a thread is working on, and its attributes, which programs publish for it
 * (OpenTelemetry's OTEP 4947). elf/elf_tls.h finds where, bpf/context.h reads it, and thread_keys.h knows
 * what attributes are called, and which service a process says it is (OTEP 4719).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "samples/labels.h"
#include "samples/thread_keys.h"
#include "sandbox/process_context.h"

#define MAX_ID 16
#define N_KEYS 256

static bool is_set(const __u8 *id, size_t size)
{
	__u8 any = 0;

	for (size_t i = 0; i < size; i++)
		any |= id[i];
	return any != 0;
}

static int add_id(struct label_list *list, const char *key, const __u8 *id, size_t size)
{
	char text[2 * MAX_ID + 1];

	for (size_t i = 0; i < size; i++)
		snprintf(text + 2 * i, sizeof("ff"), "%02x", id[i]);
	return label_list_add(list, &(struct label){ .key = key, .text = text });
}

/* With one of the numbers alone, there is no span. */
static int add_span(const struct dp_thread_record *record, struct label_list *list)
{
	int err;

	if (!is_set(record->trace_id, sizeof(record->trace_id)) ||
	    !is_set(record->span_id, sizeof(record->span_id)))
		return 0;
	err = add_id(list, LABEL_TRACE_ID, record->trace_id, sizeof(record->trace_id));
	return err < 0 ? err :
			 add_id(list, LABEL_SPAN_ID, record->span_id, sizeof(record->span_id));
}

/* The last attribute of each key; it has its size in the second byte. */
static void find_attributes(const __u8 *at, size_t left, const __u8 *ret[N_KEYS])
{
	memset(ret, 0, N_KEYS * sizeof(*ret));
	while (left >= 2 && at[1] <= left - 2) {
		size_t size = 2 + (size_t)at[1];

		ret[at[0]] = at;
		at += size;
		left -= size;
	}
}

/* A zero byte would end it. */
static int add_attribute(struct label_list *list, const char *key, const __u8 *bytes, size_t size)
{
	char text[UINT8_MAX + 1];

	for (size_t i = 0; i < size; i++)
		text[i] = (char)(bytes[i] ? bytes[i] : '?');
	text[size] = '\0';
	return label_list_add(list, &(struct label){ .key = key, .text = text });
}

static struct program_place place_of(const struct label_context *c)
{
	const struct snapshot *s = c->walked ?: c->in_kernel;
	const struct mapping *first = s && s->n_mappings > 0 ? s->mappings : NULL;

	if (!first)
		return (struct program_place){ 0 };
	return (struct program_place){ first->start, first->binary ? first->binary->number : 0 };
}

/* What a process has no name for is to be ignored. None may take the place of the span's numbers. */
static int add_attributes(const struct label_context *c, const __u8 *bytes, size_t size,
			  struct label_list *list)
{
	const __u8 *attributes[N_KEYS];
	int err = 0;

	find_attributes(bytes, size, attributes);
	for (size_t i = 0; err == 0 && i < N_KEYS; i++) {
		const char *key;
		int found;

		if (!attributes[i])
			continue;
		found = thread_keys_find(c->host ? c->host->keys : NULL, c->sample->pid,
					 place_of(c), (__u8)i, c->sample->time_ns, &key);
		list->is_cut |= found == -EAGAIN;
		if (found == 0 && !label_is_of_span(key))
			err = add_attribute(list, key, attributes[i] + 2, attributes[i][1]);
	}
	return err;
}

/* A damaged record must not end the profile: its labels are missing. */
static int add_context(const struct label_context *c, const struct dp_context *context,
		       struct label_list *list)
{
	const struct dp_thread_record *record = (const void *)(context + 1);
	int err;

	if (context->size < sizeof(*record) ||
	    context->size > context->part.size - sizeof(*context) || record->valid != 1) {
		list->is_cut = true;
		return 0;
	}
	list->is_cut |= context->is_cut != 0;
	err = add_span(record, list);
	if (err < 0 || context->size == sizeof(*record))
		return err;
	return add_attributes(c, (const __u8 *)(record + 1), context->size - sizeof(*record), list);
}

/* As its resource has them. */
static int add_service(const struct label_context *c, struct label_list *list)
{
	const struct program_place place = place_of(c);
	const struct process_context *said =
		place.start ? thread_keys_process(c->host->keys, c->sample->pid, place,
						  c->sample->time_ns) :
			      NULL;
	const struct label labels[] = {
		{ .key = "service.name", .text = said ? said->service_name : "" },
		{ .key = "service.namespace", .text = said ? said->service_namespace : "" },
		{ .key = "service.instance.id", .text = said ? said->service_instance_id : "" },
		{ .key = "deployment.environment.name", .text = said ? said->environment : "" },
	};
	int err = 0;

	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(labels); i++)
		if (labels[i].text[0] != '\0')
			err = label_list_add(list, &labels[i]);
	return err;
}

static int add(const struct label_source *source, const struct label_context *c,
	       struct label_list *list)
{
	const struct dp_context *context = sample_context(c->named);
	int err = c->host && c->host->tells_service ? add_service(c, list) : 0;

	if (err < 0)
		return err;
	if (context)
		return add_context(c, context, list);
	list->is_cut |= !label_was_looked_for(c, 1U << DP_LABELS_CONTEXT);
	return 0;
}

const struct label_source label_trace = { .name = "trace", .add = add };
