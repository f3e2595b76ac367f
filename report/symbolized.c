// SPDX-License-Identifier: Apache-2.0
#include "report/symbolized.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "report/outcome.h"
#include "report/value.h"
#include "symbols/kallsyms.h"

/* Where to add functions, and the report with their strings. */
struct maker {
	struct report *report;
	struct symbolized_stack *to;
	unsigned int wanted; /* enum symbolized_wanted */
};

void symbolized_stack_done(struct symbolized_stack *stack)
{
	free(stack->items);
	*stack = (struct symbolized_stack){ 0 };
}

/* Replaces a string by the report's own copy. */
static int keep(struct maker *m, const char **string)
{
	struct string_table *strings = &m->report->strings;
	uint32_t number;
	int err;

	if (!*string)
		return 0;
	err = string_table_add(strings, *string, &number);
	if (err == 0)
		*string = strings->strings[number];
	return err;
}

static int put(struct maker *m, const struct symbolized_frame *symbolized)
{
	struct symbolized_stack *to = m->to;
	struct symbolized_frame *item;

	if (array_reserve(to->items, to->n, to->size) < 0)
		return -ENOMEM;
	item = &to->items[to->n];
	*item = *symbolized;
	if (keep(m, &item->name) < 0 || keep(m, &item->file) < 0 || keep(m, &item->dir) < 0)
		return -ENOMEM;
	to->n++;
	return 0;
}

static int put_kernel_frame(struct maker *m, uint64_t address, size_t i)
{
	const struct kallsyms *kallsyms = m->report->context.kallsyms;
	char buffer[FRAME_LABEL_SIZE];
	struct symbolized_frame symbolized = {
		.kind = SYMBOLIZED_KERNEL,
		.language = FRAME_KERNEL,
		.is_call = i > 0,
		.address = address,
		.binary = REPORT_KERNEL,
		.name = report_kernel_label(m->report, address, i, buffer),
		.is_sought = kallsyms != NULL,
	};
	const char *module = NULL;

	symbolized.is_named = symbolized.name != buffer;
	if (symbolized.is_named)
		module = kallsyms_find_module(kallsyms, address - (i > 0));
	if (module)
		symbolized.binary = module;
	return put(m, &symbolized);
}

static int put_kernel(struct maker *m, const __u64 *frames, size_t n, bool missing)
{
	struct symbolized_frame symbolized = { .kind = SYMBOLIZED_KERNEL,
					       .language = FRAME_KERNEL,
					       .name = REPORT_KERNEL,
					       .binary = REPORT_KERNEL };
	int err = 0;

	for (size_t i = 0; err == 0 && i < n; i++)
		err = put_kernel_frame(m, frames[i], i);
	if (err == 0 && missing)
		err = put(m, &symbolized);
	return err;
}

/* Sets the name of a frame without a function. */
static void set_label(const struct maker *m, const struct frame *frame,
		      char buffer[FRAME_LABEL_SIZE], struct symbolized_frame *ret)
{
	ret->has_start =
		m->report->context.symbols && frame_function_start(frame, &ret->start) == 0;
	ret->name = frame_label(frame, ret->has_start ? &ret->start : NULL, buffer);
}

/*
 * In profiles, JIT code and functions of runtimes have a number instead, which means nothing outside of
 * this process: 0.
 */
static uint64_t address_of(const struct frame *frame)
{
	if (frame_is_in_binary(frame))
		return frame->offset;
	return frame->module && frame->address > INT64_MAX ? 0 : frame->address;
}

static int put_functions(struct maker *m, const struct frame *frame)
{
	bool in_binary = frame_is_in_binary(frame);
	char buffer[FRAME_LABEL_SIZE];
	const struct source_location *locations;
	size_t n = m->report->context.symbols ?
			   frame_locations(frame, m->wanted & SYMBOLIZED_LINES, &locations) :
			   0;
	struct symbolized_frame symbolized = {
		.kind = SYMBOLIZED_USER,
		.language = frame_kind(frame),
		.module = in_binary ? frame->module : NULL,
		.binary = frame_path(frame),
		.address = address_of(frame),
		.is_call = !frame_is_exact(frame),
		.is_near = frame_is_near(frame),
		.is_sought =
			in_binary && m->report->context.symbols && module_has_source(frame->module),
	};
	int err = 0;

	if (n == 0) {
		set_label(m, frame, buffer, &symbolized);
		return put(m, &symbolized);
	}
	for (size_t i = 0; err == 0 && i < n; i++) {
		const struct source_location *location = &locations[i];

		symbolized.is_named = location->function != NULL;
		if (symbolized.is_named)
			symbolized.name = location->function;
		else
			set_label(m, frame, buffer, &symbolized);
		symbolized.is_inlined = location->inlined;
		symbolized.file = location->file;
		symbolized.dir = location->dir;
		symbolized.line = location->line;
		symbolized.column = location->column;
		err = put(m, &symbolized);
	}
	return err;
}

static int put_user_frame(struct maker *m, const struct frame *frame, size_t number)
{
	int err = put_functions(m, frame);

	if (err == 0)
		m->to->items[m->to->n - 1].frame = (uint32_t)number + 1;
	return err;
}

/* Before the first look-up of a stack. */
static void want(const struct maker *m, const struct frame *frame)
{
	if (m->report->context.symbols)
		frame_want_locations(frame, m->wanted & SYMBOLIZED_LINES);
}

static int put_off_cpu(struct maker *m, enum dp_state state)
{
	char text[FRAME_LABEL_SIZE];
	struct symbolized_frame symbolized = { .kind = SYMBOLIZED_MARK, .name = text };

	if (!value_other_event(&m->report->context))
		return 0;
	snprintf(text, sizeof(text), "[off-cpu %c]", state_letter(state));
	return put(m, &symbolized);
}

/* Marks an incomplete stack, so that its end is not taken for its root. */
static int put_truncated(struct maker *m, enum dp_outcome outcome)
{
	char text[FRAME_LABEL_SIZE];
	struct symbolized_frame symbolized = { .kind = SYMBOLIZED_MARK, .name = text };

	if (outcome == DP_COMPLETE || outcome == DP_KERNEL_ONLY)
		return 0;
	snprintf(text, sizeof(text), "[truncated: %s]", outcome_word(outcome));
	return put(m, &symbolized);
}

static int put_label(struct maker *m, const struct label *label)
{
	_cleanup_free_ char *text = NULL;
	struct symbolized_frame symbolized = { .kind = SYMBOLIZED_MARK };
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return -ENOMEM;
	fputc('[', to);
	label_print(label, to);
	fputc(']', to);
	if (fclose(to) != 0)
		return -ENOMEM;
	symbolized.name = text;
	return put(m, &symbolized);
}

/* In order from the root on. With spans' numbers, no two stacks would have equal roots. */
static int put_labels(struct maker *m, const struct label_set *labels)
{
	size_t first = m->to->n, at = 0;
	struct label label;
	int err = 0;

	while (err == 0 && label_set_next(labels, &at, &label))
		if (m->report->context.by || !label_is_of_span(label.key))
			err = put_label(m, &label);
	for (size_t i = first, last = m->to->n; i + 1 < last; i++) {
		struct symbolized_frame symbolized = m->to->items[--last];

		m->to->items[last] = m->to->items[i];
		m->to->items[i] = symbolized;
	}
	return err;
}

/* Adds what is above the user frames, from the leaf. */
static int put_top(struct maker *m, const struct sample *common, const __u64 *kernel, size_t n)
{
	int err = 0;

	m->to->n = 0;
	if (common->event == DP_EVENT_OFF_CPU)
		err = put_off_cpu(m, common->state);
	return err == 0 ? put_kernel(m, kernel, n, common->kernel_error != 0) : err;
}

/* Adds what is below the user frames. */
static int put_bottom(struct maker *m, const struct sample *common)
{
	int err = put_truncated(m, common->outcome);

	return err == 0 && (m->wanted & SYMBOLIZED_LABELS) ? put_labels(m, common->labels) : err;
}

int symbolized_stack_make(struct report *report, const struct stack *stack, unsigned int wanted,
			  struct symbolized_stack *ret)
{
	struct maker m = { report, ret, wanted };
	int err = put_top(&m, &stack->common, stack->kernel, stack->n_kernel);

	for (size_t i = 0; i < stack->n_user; i++) {
		struct frame frame = stack_frame_unpack(&stack->user[i]);

		want(&m, &frame);
	}
	for (size_t i = 0; err == 0 && i < stack->n_user; i++) {
		struct frame frame = stack_frame_unpack(&stack->user[i]);

		err = put_user_frame(&m, &frame, i);
	}
	return err == 0 ? put_bottom(&m, &stack->common) : err;
}

int symbolized_stack_make_sample(struct report *report, const struct sample *sample,
				 unsigned int wanted, struct symbolized_stack *ret)
{
	struct maker m = { report, ret, wanted };
	int err = put_top(&m, sample, sample->kernel, sample->n_kernel);

	for (size_t i = 0; i < sample->n_user; i++)
		want(&m, &sample->user[i]);
	for (size_t i = 0; err == 0 && i < sample->n_user; i++)
		err = put_user_frame(&m, &sample->user[i], i);
	return err == 0 ? put_bottom(&m, sample) : err;
}

const struct symbolized_frame symbolized_cut = { .kind = SYMBOLIZED_MARK,
						 .name = "[frames left out]" };

size_t symbolized_keep(size_t n, size_t max, size_t *ret_skipped)
{
	*ret_skipped = max > 0 && n > max ? n - max + 1 : 0;
	return *ret_skipped > 0 ? max / 2 : n;
}

uint64_t symbolized_code_address(const struct symbolized_frame *symbolized)
{
	return symbolized->address - (symbolized->is_call && symbolized->address > 0);
}

size_t symbolized_n_functions(const struct symbolized_frame *symbolized, size_t n)
{
	size_t i = 0;

	while (i + 1 < n && symbolized[i].is_inlined)
		i++;
	return i + 1;
}

bool symbolized_has_name(const struct symbolized_frame *symbolized, size_t n)
{
	return n > 1 || symbolized->is_named || symbolized->is_sought || symbolized->address == 0;
}
