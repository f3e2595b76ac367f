// SPDX-License-Identifier: Apache-2.0
/* The sample stream: one JSON object per line and sample. docs/FORMAT.md describes it. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "json_value.h"
#include "kallsyms.h"
#include "outcome.h"
#include "report.h"

struct jsonl {
	struct report report;
};

static json_t *json_user_frame(const struct report *report, const struct frame *frame)
{
	uint64_t offset;
	const char *symbol = report->context.symbols ? frame_symbol(frame, &offset) : NULL;
	json_t *json = json_object();

	json_object_set_new(json, "address", json_hex(frame->address));
	json_object_set_new(json, "module",
			    frame->module ? json_text(frame->module->path) : json_null());
	json_object_set_new(json, "offset", frame->module ? json_hex(frame->offset) : json_null());
	json_object_set_new(json, "symbol", symbol ? json_text(symbol) : json_null());
	json_object_set_new(json, "method", json_string(method_word(frame->method)));
	return json;
}

static json_t *json_kernel_frame(const struct report *report, uint64_t address, size_t i)
{
	const char *symbol = NULL;
	uint64_t offset;
	json_t *json = json_object();

	if (report->context.kallsyms)
		symbol = kallsyms_find(report->context.kallsyms, address - (i > 0), &offset);
	json_object_set_new(json, "address", json_hex(address));
	json_object_set_new(json, "symbol", symbol ? json_text(symbol) : json_null());
	return json;
}

static json_t *json_user_stack(const struct report *report, const struct sample *sample)
{
	json_t *json = json_array();

	for (size_t i = 0; i < sample->n_user; i++)
		json_array_append_new(json, json_user_frame(report, &sample->user[i]));
	return json;
}

static json_t *json_kernel_stack(const struct report *report, const struct sample *sample)
{
	json_t *json = json_array();

	for (size_t i = 0; i < sample->n_kernel; i++)
		json_array_append_new(json, json_kernel_frame(report, sample->kernel[i], i));
	return json;
}

static json_t *json_sample(const struct report *report, const struct sample *sample,
			   const struct totals *totals)
{
	json_t *json = json_object();

	json_object_set_new(json, "time_ns", json_integer((json_int_t)sample->time_ns));
	json_object_set_new(json, "cpu", json_integer(sample->cpu));
	json_object_set_new(json, "pid", json_integer(sample->pid));
	json_object_set_new(json, "tid", json_integer(sample->tid));
	json_object_set_new(json, "comm", json_text(sample->comm));
	json_object_set_new(json, "thread_name", json_text(sample->thread_name));
	json_object_set_new(json, "event", json_text(report->context.event));
	json_object_set_new(json, "outcome", json_string(outcome_word(sample->outcome)));
	json_object_set_new(json, "user_stack", json_user_stack(report, sample));
	json_object_set_new(json, "kernel_stack", json_kernel_stack(report, sample));
	json_object_set_new(json, "user_stack_error",
			    sample->outcome == DP_COMPLETE ?
				    json_null() :
				    json_string(outcome_sentence(sample->outcome)));
	json_object_set_new(json, "kernel_stack_error",
			    sample->kernel_error ? json_string(strerror(-sample->kernel_error)) :
						   json_null());
	json_object_set_new(json, "late", json_boolean(sample->late));
	json_object_set_new(json, "lost", json_integer((json_int_t)totals->lost));
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
