// SPDX-License-Identifier: Apache-2.0
/*
 * The span that a thread is working on, which programs publish for it (OpenTelemetry's OTEP 4947).
 * elf/elf_tls.h finds where, bpf/context.h reads it. Names of other attributes are not known.
 */
#include <stdio.h>

#include "samples/label_source.h"

#define MAX_ID 16

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
	err = add_id(list, "trace_id", record->trace_id, sizeof(record->trace_id));
	return err < 0 ? err : add_id(list, "span_id", record->span_id, sizeof(record->span_id));
}

/* A damaged record must not end the profile: its labels are missing. */
static int add_context(const struct dp_context *context, struct label_list *list)
{
	const struct dp_thread_record *record = (const void *)(context + 1);

	if (context->size < sizeof(*record) ||
	    context->size > context->part.size - sizeof(*context) || record->valid != 1) {
		list->is_cut = true;
		return 0;
	}
	list->is_cut |= context->is_cut || context->size > sizeof(*record);
	return add_span(record, list);
}

static bool is_of_context(const struct binary *b)
{
	return b && b->table && b->table->labels_form == DP_LABELS_CONTEXT;
}

static bool has_context(const struct snapshot *snapshot)
{
	for (size_t i = 0; snapshot && snapshot->has_labels && i < snapshot->n_mappings; i++)
		if (is_of_context(snapshot->mappings[i].binary))
			return true;
	return false;
}

/* Of a sample that it did not look at, or of a process with other labels, the kernel knows nothing. */
static int add(const struct label_source *source, const struct label_context *c,
	       struct label_list *list)
{
	const struct dp_context *context = sample_context(c->named);

	if (context)
		return add_context(context, list);
	list->is_cut |= c->sample->n_user > 0 && !is_of_context(snapshot_labelled(c->in_kernel)) &&
			has_context(c->walked);
	return 0;
}

const struct label_source label_trace = { .name = "trace", .add = add };
