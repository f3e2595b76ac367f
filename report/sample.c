// SPDX-License-Identifier: Apache-2.0
#include "report/sample.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "symbols/code_source.h"

/* These are all counters, and precede the other members. */
#define N_COUNTERS (offsetof(struct totals, verified) / sizeof(uint64_t))
_Static_assert(N_COUNTERS * sizeof(uint64_t) + sizeof(struct verified *) == sizeof(struct totals),
	       "");

void totals_count(struct totals *t, const struct sample *s)
{
	t->samples++;
	t->finished_late += s->late;
	t->cut_labels += label_set_is_part(s->labels);
	t->outcomes[s->outcome]++;
	t->events += s->weight;
	t->time_ns += s->weight * s->value_ns;
}

struct totals totals_since(const struct totals *now, const struct totals *before)
{
	uint64_t counters[N_COUNTERS], old[N_COUNTERS];
	struct totals since = { 0 };

	memcpy(counters, now, sizeof(counters));
	memcpy(old, before, sizeof(old));
	for (size_t i = 0; i < N_COUNTERS; i++)
		counters[i] -= old[i];
	memcpy(&since, counters, sizeof(counters));
	return since;
}

uint64_t totals_with_user_stack(const struct totals *totals)
{
	return totals->samples - totals->outcomes[DP_NO_USER_STACK] -
	       totals->outcomes[DP_KERNEL_ONLY];
}

double totals_complete(const struct totals *totals)
{
	uint64_t with_stack = totals_with_user_stack(totals);

	if (with_stack == 0)
		return 0;
	return 100.0 * (double)totals->outcomes[DP_COMPLETE] / (double)with_stack;
}

bool frame_is_exact(const struct frame *frame)
{
	return !DP_METHOD_IS_CALLER(frame->method);
}

void frame_locate(struct frame *frame, uint64_t time_ns)
{
	struct code_source *code = frame->module->code;
	uint64_t before = !frame_is_exact(frame);

	if (frame_is_interpreted(frame)) {
		if (code)
			frame->offset = code->locate(code, frame->offset);
		return;
	}
	frame->offset = module_locate(frame->module, frame->address - before, time_ns) + before;
}

size_t frame_locations(const struct frame *frame, bool lines, const struct source_location **ret)
{
	if (!frame->module)
		return 0;
	return module_find_locations(frame->module, frame->offset - !frame_is_exact(frame), lines,
				     ret);
}

void frame_want_locations(const struct frame *frame, bool lines)
{
	if (frame_is_in_binary(frame))
		module_want(frame->module, frame->offset - !frame_is_exact(frame), lines);
}

int frame_function_start(const struct frame *frame, uint64_t *ret)
{
	if (!frame_is_in_binary(frame))
		return -ENOENT;
	return module_find_start(frame->module, frame->offset - !frame_is_exact(frame), ret);
}

bool frame_is_interpreted(const struct frame *frame)
{
	return frame->method == DP_METHOD_PYTHON || frame->method == DP_METHOD_JAVA ||
	       frame->method == DP_METHOD_RUBY || frame->method == DP_METHOD_PHP ||
	       frame->method == DP_METHOD_PERL;
}

const char *frame_kind_word(const struct frame *frame)
{
	switch (frame->method) {
	case DP_METHOD_PYTHON:
		return "python";
	case DP_METHOD_JAVA:
		return "java";
	case DP_METHOD_RUBY:
		return "ruby";
	case DP_METHOD_PHP:
		return "php";
	case DP_METHOD_PERL:
		return "perl";
	default:
		return "native";
	}
}

const char *frame_path(const struct frame *frame)
{
	switch (frame->method) {
	case DP_METHOD_PYTHON:
		return "[python]";
	case DP_METHOD_JAVA:
		return "[java]";
	case DP_METHOD_RUBY:
		return "[ruby]";
	case DP_METHOD_PHP:
		return "[php]";
	case DP_METHOD_PERL:
		return "[perl]";
	default:
		return frame->module ? frame->module->path : NULL;
	}
}

bool frame_is_in_binary(const struct frame *frame)
{
	return frame->module && !module_is_compiled(frame->module);
}

const char *frame_label(const struct frame *frame, const uint64_t *start,
			char buffer[FRAME_LABEL_SIZE])
{
	if (frame_is_interpreted(frame))
		snprintf(buffer, FRAME_LABEL_SIZE, "%s", frame_path(frame));
	else if (frame_is_in_binary(frame))
		snprintf(buffer, FRAME_LABEL_SIZE, "[%.255s+0x%" PRIx64 "]", frame->module->name,
			 start ? *start : frame->offset);
	else if (frame->module && frame->address > INT64_MAX)
		/* Profiles may have freed the JIT code of the frame by now. */
		snprintf(buffer, FRAME_LABEL_SIZE, "%s", frame->module->path);
	else
		snprintf(buffer, FRAME_LABEL_SIZE, "0x%" PRIx64, frame->address);
	return buffer;
}
