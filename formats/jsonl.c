// SPDX-License-Identifier: Apache-2.0
/* The sample stream: one JSON object per line and sample. docs/FORMAT.md describes it. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json_value.h"
#include "formats/report_format.h"
#include "report/frame_kind.h"
#include "report/outcome.h"
#include "report/own_label.h"
#include "report/report.h"
#include "report/value.h"
#include "report/verified.h"
#include "symbols/kallsyms.h"

struct jsonl {
	struct report report;
};

/* A frame, or a function inlined there; location: NULL if nothing is known. */
static json_t *json_user_frame(const struct report *report, const struct frame *frame,
			       const struct source_location *location)
{
	bool is_named = location && location->function;
	uint64_t start;
	bool has_start =
		report->context.symbols && !is_named && frame_function_start(frame, &start) == 0;
	bool in_binary = frame_is_in_binary(frame);
	bool has_module = in_binary || (frame->module && location);
	bool has_file = location && location->file;
	bool has_line = has_file && location->line > 0;
	json_t *json = json_object();

	json_object_set_new(json, "address", json_hex(frame->address));
	json_object_set_new(json, "module",
			    has_module ? json_text(frame_path(frame)) : json_null());
	json_object_set_new(json, "offset", in_binary ? json_hex(frame->offset) : json_null());
	json_object_set_new(json, "function_start", has_start ? json_hex(start) : json_null());
	json_object_set_new(json, "symbol", is_named ? json_text(location->function) : json_null());
	json_object_set_new(json, "method", json_string(method_word(frame->method)));
	json_object_set_new(json, "kind", json_string(frame_kind_word(frame_kind(frame))));
	json_object_set_new(json, "file", has_file ? json_text(location->file) : json_null());
	json_object_set_new(json, "line", has_line ? json_integer(location->line) : json_null());
	json_object_set_new(json, "column",
			    has_line && location->column > 0 ? json_integer(location->column) :
							       json_null());
	json_object_set_new(json, "inlined", json_boolean(location && location->inlined));
	return json;
}

/* Of a probed call, its values, which are among the sample's labels. */
static void json_set_values(json_t *json, const struct frame *frame, const struct label_set *labels)
{
	json_t *values = json_object();
	struct label label;
	size_t at = 0;

	while (frame->probe > 0 && label_set_next(labels, &at, &label))
		if (label.probe == frame->probe)
			json_object_set_new(values, label.key, json_label(&label));
	if (json_object_size(values) > 0)
		json_object_set(json, "values", values);
	json_decref(values);
}

/* labels: those of the sample; NULL: none. */
static void append_user_frames(const struct report *report, const struct frame *frame,
			       const struct label_set *labels, json_t *json)
{
	const struct source_location *locations = NULL;
	size_t n = report->context.symbols ? frame_locations(frame, true, &locations) : 0;

	if (n == 0)
		json_array_append_new(json, json_user_frame(report, frame, NULL));
	for (size_t i = 0; i < n; i++)
		json_array_append_new(json, json_user_frame(report, frame, &locations[i]));
	json_set_values(json_array_get(json, json_array_size(json) - 1), frame, labels);
}

static json_t *json_kernel_frame(const struct report *report, uint64_t address, size_t i)
{
	const struct kallsyms *kallsyms = report->context.kallsyms;
	const char *symbol = NULL, *module = NULL;
	uint64_t offset;
	json_t *json = json_object();

	if (kallsyms)
		symbol = kallsyms_find(kallsyms, address - (i > 0), &offset);
	if (symbol)
		module = kallsyms_find_module(kallsyms, address - (i > 0));
	json_object_set_new(json, "address", json_hex(address));
	json_object_set_new(json, "symbol", symbol ? json_text(symbol) : json_null());
	json_object_set_new(json, "module", module ? json_text(module) : json_null());
	return json;
}

static json_t *json_user_stack(const struct report *report, const struct sample *sample)
{
	json_t *json = json_array();

	for (size_t i = 0; i < sample->n_user; i++)
		append_user_frames(report, &sample->user[i], sample->labels, json);
	return json;
}

static json_t *json_kernel_stack(const struct report *report, const struct sample *sample)
{
	json_t *json = json_array();

	for (size_t i = 0; i < sample->n_kernel; i++)
		json_array_append_new(json, json_kernel_frame(report, sample->kernel[i], i));
	return json;
}

/* libdwfl's stack is written if it is a different one. */
static void json_set_verified(const struct report *report, const struct verified_stack *stack,
			      json_t *json)
{
	json_t *frames;

	if (!stack)
		return;
	json_object_set_new(json, "verified", json_string(verified_word(stack->result)));
	if (!verified_is_difference(stack->result) && stack->result != VERIFIED_NO_INFORMATION)
		return;
	frames = json_array();
	for (size_t i = 0; i < stack->n_frames; i++)
		append_user_frames(report, &stack->frames[i], NULL, frames);
	json_object_set_new(json, "verified_stack", frames);
	json_object_set_new(json, "verified_end", stack->end ? json_text(stack->end) : json_null());
}

static void json_set_own_labels(json_t *json, const struct sample *sample)
{
	const struct own_label *own;
	struct label label;

	for (size_t i = 0; (own = own_label(i)); i++)
		json_object_set_new(json, own->key,
				    own_label_get(own, sample, &label) ? json_label(&label) :
									 json_null());
}

/* Of --value. */
static json_t *json_own_value(const struct report_context *context, const struct sample *sample,
			      const char *name)
{
	json_t *json = json_object();

	json_object_set_new(json, name,
			    value_own_is_missing(context, sample) ?
				    json_null() :
				    json_integer((json_int_t)sample->value_ns));
	for (size_t i = 0; i < context->n_more; i++) {
		uint64_t number;

		json_object_set_new(json, context->more[i].name,
				    value_label_number(context->more[i].name, sample->labels,
						       &number) ?
					    json_integer((json_int_t)number) :
					    json_null());
	}
	return json;
}

static json_t *json_sample(const struct report *report, const struct sample *sample,
			   const struct totals *totals)
{
	const char *own = value_own_name(&report->context, sample);
	bool is_memory = value_is_memory(&report->context);
	json_t *json = json_object();

	json_object_set_new(json, "time_ns", json_integer((json_int_t)sample->time_ns));
	json_set_own_labels(json, sample);
	json_object_set_new(json, "event", json_text(value_event_name(&report->context, sample)));
	json_object_set_new(json, "user_stack", json_user_stack(report, sample));
	json_object_set_new(json, "kernel_stack", json_kernel_stack(report, sample));
	json_object_set_new(json, "user_stack_error",
			    sample->outcome == DP_COMPLETE ?
				    json_null() :
				    json_string(outcome_sentence(sample->outcome)));
	json_object_set_new(json, "kernel_stack_error",
			    sample->kernel_error ?
				    json_string(kernel_error_word(sample->kernel_error)) :
				    json_null());
	json_object_set_new(json, "fault_address",
			    sample->fault_address ? json_hex(sample->fault_address) : json_null());
	json_object_set_new(json, "late", json_boolean(sample->late));
	json_object_set_new(json, "weight", json_integer((json_int_t)sample->weight));
	json_object_set_new(json, "value_ns",
			    sample->value_ns && !is_memory && !own ?
				    json_integer((json_int_t)sample->value_ns) :
				    json_null());
	if (own)
		json_object_set_new(json, "values", json_own_value(&report->context, sample, own));
	if (is_memory)
		json_object_set_new(json, "bytes", json_integer((json_int_t)sample->value_ns));
	json_set_labels(json, sample->labels);
	json_object_set_new(json, "lost", json_integer((json_int_t)totals->lost));
	json_set_verified(report, sample->verified, json);
	return json;
}

static int jsonl_add(struct report *report, const struct sample *sample,
		     const struct totals *totals)
{
	json_t *json = json_sample(report, sample, totals);
	int err = 0;

	if (!json || json_dumpf(json, report->to, JSON_COMPACT) != 0)
		err = errno ? -errno : -ENOMEM;
	else if (fputc('\n', report->to) == EOF)
		err = -errno;
	json_decref(json);
	return err;
}

static int jsonl_finish(struct report *report, const struct totals *totals)
{
	return 0;
}

static void jsonl_free(struct report *report)
{
	free(report);
}

int report_jsonl_new(struct report **ret)
{
	struct jsonl *jsonl = calloc(1, sizeof(*jsonl));

	if (!jsonl)
		return -ENOMEM;
	jsonl->report.add = jsonl_add;
	jsonl->report.finish = jsonl_finish;
	jsonl->report.free = jsonl_free;
	*ret = &jsonl->report;
	return 0;
}
