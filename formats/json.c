// SPDX-License-Identifier: Apache-2.0
/* The profile as one JSON object: every stack once, with what it counts. docs/FORMAT.md describes it. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json_value.h"
#include "formats/report_format.h"
#include "report/outcome.h"
#include "report/own_label.h"
#include "report/profile.h"
#include "report/report.h"
#include "report/span_times.h"
#include "report/symbolized.h"
#include "report/value.h"
#include "report/verified.h"
#include "symbols/failures.h"
#include "symbols/names.h"

/* What distinguishes stacks. */
#define COUNTED ((unsigned int)(PROFILE_THREAD | PROFILE_LABELS))

struct json_report {
	struct report report;
	struct profile *profile;
	struct symbolized_stack symbolized;
	bool has_stacks; /* one has been written */
};

static int json_add(struct report *report, const struct sample *sample, const struct totals *totals)
{
	return profile_add(((struct json_report *)report)->profile, sample);
}

static json_t *json_number(uint64_t number)
{
	return json_integer((json_int_t)number);
}

static json_t *json_text_or_null(const char *text)
{
	return text ? json_text(text) : json_null();
}

static json_t *json_location(const struct symbolized_frame *symbolized)
{
	json_t *json;

	if (!symbolized->file)
		return json_null();
	json = json_object();
	json_object_set_new(json, "file", json_text(symbolized->file));
	json_object_set_new(json, "line",
			    symbolized->line > 0 ? json_number(symbolized->line) : json_null());
	json_object_set_new(json, "column",
			    symbolized->column > 0 ? json_number(symbolized->column) : json_null());
	return json;
}

/* In a binary, the address is that in the file: processes may have it anywhere. */
static json_t *json_frame(const struct symbolized_frame *symbolized)
{
	bool in_module = symbolized->kind == SYMBOLIZED_USER && symbolized->module;
	const char *module = symbolized->binary;
	bool has_address = !in_module && (symbolized->address > 0 || !module);
	json_t *json = json_object();

	/* Kernel modules are named, as in the stream of samples. */
	if (module && strcmp(module, REPORT_KERNEL) == 0)
		module = NULL;
	json_object_set_new(json, "address",
			    has_address ? json_hex(symbolized->address) : json_null());
	json_object_set_new(json, "symbol",
			    symbolized->is_named ? json_text(symbolized->name) : json_null());
	json_object_set_new(json, "module", json_text_or_null(module));
	json_object_set_new(json, "offset",
			    in_module ? json_hex(symbolized->address) : json_null());
	json_object_set_new(json, "function_start",
			    symbolized->has_start ? json_hex(symbolized->start) : json_null());
	json_object_set_new(json, "source_location", json_location(symbolized));
	json_object_set_new(json, "inlined", json_boolean(symbolized->is_inlined));
	return json;
}

/* Marks for missing frames are left out; the errors say why frames are missing. */
static json_t *json_frames(const struct symbolized_stack *stack, enum symbolized_kind kind)
{
	json_t *json = json_array();

	for (size_t i = 0; i < stack->n; i++)
		if (stack->items[i].kind == kind &&
		    (kind == SYMBOLIZED_USER || stack->items[i].address > 0))
			json_array_append_new(json, json_frame(&stack->items[i]));
	return json;
}

/* Describes the numbers of json_values(). */
static json_t *json_value_types(const struct report_context *context)
{
	struct value values[VALUES_MAX];
	size_t n = values_of(context, values);
	json_t *json = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *type = json_object();

		json_object_set_new(type, "name", json_text(values[i].name));
		json_object_set_new(type, "unit", json_text(values[i].unit));
		json_array_append_new(json, type);
	}
	return json;
}

static json_t *json_values(const struct report_context *context, const struct stack *stack)
{
	struct value values[VALUES_MAX];
	size_t n = values_of(context, values);
	json_t *json = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(json, json_number(value_of_stack(&values[i], stack)));
	return json;
}

static json_t *json_stack(const struct json_report *report, const struct stack *stack)
{
	const struct value measured = value_measured(&report->report.context);
	struct frame leaf;
	const struct sample sample = stack_sample(stack, &leaf);
	const struct own_label *own;
	struct label label;
	json_t *json = json_object();

	for (size_t i = 0; (own = own_label(i)); i++) {
		if (own->counted & ~COUNTED)
			continue;
		json_object_set_new(json, own->key,
				    own_label_get(own, &sample, &label) ? json_label(&label) :
									  json_null());
	}
	json_set_labels(json, stack->common.labels);
	json_object_set_new(json, "count", json_number(stack->count));
	json_object_set_new(json, "time_ns",
			    value_is_time(&measured) ? json_number(stack->time_ns) : json_null());
	json_object_set_new(json, "values", json_values(&report->report.context, stack));
	json_object_set_new(json, "user_stack", json_frames(&report->symbolized, SYMBOLIZED_USER));
	json_object_set_new(json, "kernel_stack",
			    json_frames(&report->symbolized, SYMBOLIZED_KERNEL));
	json_object_set_new(json, "user_stack_error",
			    stack->common.outcome == DP_COMPLETE ?
				    json_null() :
				    json_string(outcome_sentence(stack->common.outcome)));
	json_object_set_new(json, "kernel_stack_error",
			    json_text_or_null(kernel_error_word(stack->common.kernel_error)));
	return json;
}

static json_t *json_metadata(const struct report_context *context, const struct totals *totals)
{
	const struct value measured = value_measured(context);
	json_t *json = json_object();

	json_object_set_new(json, "version", json_string(DP_VERSION));
	json_object_set_new(json, "command", json_text_or_null(context->command));
	json_object_set_new(json, "target", json_text(context->target));
	json_object_set_new(json, "event", json_text(context->event));
	json_object_set_new(json, "hz", context->hz ? json_number(context->hz) : json_null());
	json_object_set_new(json, "off_cpu",
			    json_boolean(value_is_time(&measured) && !measured.is_own));
	json_object_set_new(json, "values", json_value_types(context));
	json_object_set_new(json, "host", json_text_or_null(context->host));
	json_object_set_new(json, "kernel", json_text_or_null(context->kernel));
	json_object_set_new(json, "started_ns", json_number(context->started_real_ns));
	json_object_set_new(json, "duration_ns", json_number(totals->duration_ns));
	return json;
}

static json_t *json_outcomes(const struct totals *totals)
{
	json_t *json = json_object();

	for (int i = DP_COMPLETE; i < DP_N_OUTCOMES; i++)
		if (i == DP_COMPLETE || totals->outcomes[i] > 0)
			json_object_set_new(json, outcome_word(i),
					    json_number(totals->outcomes[i]));
	return json;
}

static json_t *json_verified(const struct verified *verified)
{
	json_t *json, *results;

	if (!verified)
		return json_null();
	json = json_object();
	results = json_object();
	for (int i = 0; i < VERIFIED_N_RESULTS; i++)
		if (verified->results[i] > 0)
			json_object_set_new(results, verified_word(i),
					    json_number(verified->results[i]));
	json_object_set_new(json, "stacks", results);
	json_object_set_new(json, "frames", json_number(verified->frames));
	json_object_set_new(json, "equal_frames", json_number(verified->equal_frames));
	return json;
}

/* How long the calls took in which the samples are. */
static json_t *json_calls(const struct totals *totals)
{
	const struct span_times *calls = totals->calls;
	json_t *json = json_object(), *steps = json_array();
	struct span_row row;
	uint32_t step = 0;

	json_object_set_new(json, "name", json_text(calls->name));
	json_object_set_new(json, "min_ns", json_number(calls->min_ns));
	json_object_set_new(json, "count", json_number(calls->n_begun));
	json_object_set_new(json, "long", json_number(calls->n_long));
	json_object_set_new(json, "not_returned", json_number(span_times_left(calls)));
	json_object_set_new(json, "not_begun", json_number(calls->n_unbegun));
	json_object_set_new(json, "samples_outside", json_number(totals->outside));
	json_object_set_new(json, "samples_unknown", json_number(totals->in_unknown));
	while (span_times_next(calls, &step, &row)) {
		json_t *of = json_object();

		json_object_set_new(of, "from_ns", json_number(row.start_ns));
		json_object_set_new(of, "to_ns",
				    row.end_ns < UINT64_MAX ? json_number(row.end_ns) :
							      json_null());
		json_object_set_new(of, "returned", json_number(row.n_returned));
		json_object_set_new(of, "at_least", json_number(row.n_left));
		json_array_append_new(steps, of);
	}
	json_object_set_new(json, "times", steps);
	return json;
}

static json_t *json_failures(struct names *names)
{
	const char *first[PARSERS_SHOWN_FAILURES];
	size_t n = names ? failures_look(names_failures(names), first) : 0;
	json_t *json = json_object(), *list = json_array();

	json_object_set_new(json, "count", json_number(n));
	for (size_t i = 0; i < n && i < PARSERS_SHOWN_FAILURES; i++)
		json_array_append_new(list, json_text_or_null(first[i]));
	json_object_set_new(json, "first", list);
	return json;
}

static json_t *json_totals(const struct report_context *context, const struct totals *totals)
{
	const struct value measured = value_measured(context);
	json_t *json = json_object();

	json_object_set_new(json, "samples", json_number(totals->samples));
	json_object_set_new(json, "with_user_stack", json_number(totals_with_user_stack(totals)));
	json_object_set_new(json, "outcomes", json_outcomes(totals));
	json_object_set_new(json, "lost", json_number(totals->lost));
	json_object_set_new(json, "count", json_number(totals->events));
	json_object_set_new(json, "time_ns",
			    value_is_time(&measured) ? json_number(totals->time_ns) : json_null());
	json_object_set_new(json, "lost_ns",
			    value_is_time(&measured) ? json_number(totals->lost_ns) : json_null());
	json_object_set_new(json, "verified", json_verified(totals->verified));
	if (totals->calls)
		json_object_set_new(json, "calls", json_calls(totals));
	return json;
}

/* One stack per line, so that only one is in memory. */
static int write_stack(const struct stack *stack, void *arg)
{
	struct json_report *report = arg;
	int err = symbolized_stack_make(&report->report, stack, SYMBOLIZED_LINES,
					&report->symbolized);

	if (err < 0)
		return err;
	fputs(report->has_stacks ? ",\n" : "\n", report->report.to);
	report->has_stacks = true;
	return json_write(json_stack(report, stack), JSON_COMPACT, report->report.to);
}

static int json_finish(struct report *report, const struct totals *totals)
{
	struct json_report *json = (struct json_report *)report;
	FILE *to = report->to;
	int err;

	fputs("{\"metadata\":", to);
	err = json_write(json_metadata(&report->context, totals), JSON_COMPACT, to);
	if (err < 0)
		return err;
	fputs(",\n\"totals\":", to);
	err = json_write(json_totals(&report->context, totals), JSON_COMPACT, to);
	if (err < 0)
		return err;
	fputs(",\n\"stacks\":[", to);
	err = profile_for_each(json->profile, write_stack, json);
	fputs("\n],\n\"failures\":", to);
	/* Also of names, which are known now. */
	if (err == 0)
		err = json_write(json_failures(report->context.names), JSON_COMPACT, to);
	fputs("}\n", to);
	return err;
}

static void json_free(struct report *report)
{
	struct json_report *json = (struct json_report *)report;

	symbolized_stack_done(&json->symbolized);
	profile_free(json->profile);
	free(json);
}

int report_json_new(struct report **ret)
{
	struct json_report *json = calloc(1, sizeof(*json));

	if (!json)
		return -ENOMEM;
	if (profile_new(COUNTED, &json->profile) < 0) {
		free(json);
		return -ENOMEM;
	}
	json->report.add = json_add;
	json->report.finish = json_finish;
	json->report.free = json_free;
	*ret = &json->report;
	return 0;
}
