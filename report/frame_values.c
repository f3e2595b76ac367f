// SPDX-License-Identifier: Apache-2.0
#include "report/frame_values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/sum.h"
#include "base/text.h"
#include "limits/limits.h"

/* Longer ones are cut, and counted together if they then are equal. */
#define TEXT_CUT 120
#define CUT "..."

/* What all samples with a value have together. */
struct count {
	uint64_t count, time_ns;
};

struct frame_values_text {
	UT_hash_handle hh; /* by the text */
	struct count count;
	char text[];
};

/* A frame of a stack. */
struct frame_values_call {
	UT_hash_handle hh;
	struct call_key {
		uint32_t stack, frame; /* the frame from 1 */
	} key;
	struct count count; /* also of texts for which there was no room */
	struct frame_values_text *texts;
};

static void call_free(struct frame_values_call *call)
{
	struct frame_values_text *text, *next;

	HASH_ITER(hh, call->texts, text, next) {
		HASH_DEL(call->texts, text);
		free(text);
	}
	free(call);
}

void frame_values_done(struct frame_values *values)
{
	struct frame_values_call *call, *next;

	HASH_ITER(hh, values->calls, call, next) {
		HASH_DEL(values->calls, call);
		call_free(call);
	}
	values->n = 0;
}

static struct frame_values_call *find_call(const struct frame_values *values, uint32_t stack,
					   uint32_t frame)
{
	const struct call_key key = { stack, frame };
	struct frame_values_call *call;

	HASH_FIND(hh, values->calls, &key, sizeof(key), call);
	return call;
}

static struct frame_values_call *find_or_add_call(struct frame_values *values, uint32_t stack,
						  uint32_t frame)
{
	struct frame_values_call *call = find_call(values, stack, frame);

	if (call)
		return call;
	call = calloc(1, sizeof(*call));
	if (!call)
		return NULL;
	call->key = (struct call_key){ stack, frame };
	HASH_ADD(hh, values->calls, key, sizeof(call->key), call);
	if (HASH_IS_ADDED(hh, call))
		return call;
	free(call);
	return NULL;
}

static void count(struct count *count, const struct sample *sample)
{
	count->count += sample->weight;
	count->time_ns = sum_of(count->time_ns, sample_sum(sample));
}

static int add_text(struct frame_values *values, struct frame_values_call *call, const char *text,
		    const struct sample *sample)
{
	size_t size = strlen(text);
	struct frame_values_text *t;

	count(&call->count, sample);
	HASH_FIND(hh, call->texts, text, size, t);
	if (!t && values->n >= LABEL_COUNTS_MAX)
		return 0;
	if (!t) {
		t = calloc(1, sizeof(*t) + size + 1);
		if (!t)
			return -ENOMEM;
		memcpy(t->text, text, size);
		HASH_ADD(hh, call->texts, text, size, t);
		if (!HASH_IS_ADDED(hh, t)) {
			free(t);
			return -ENOMEM;
		}
		values->n++;
	}
	count(&t->count, sample);
	return 0;
}

/* All values of a call: "route=/login, size=3". */
static int make_text(const struct label_set *labels, unsigned int probe, char **ret)
{
	_cleanup_free_ char *text = NULL;
	const char *between = "";
	struct label label;
	size_t at = 0, size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return -ENOMEM;
	while (label_set_next(labels, &at, &label)) {
		if (label.probe != probe)
			continue;
		fputs(between, to);
		label_print(&label, to);
		between = ", ";
	}
	if (fclose(to) != 0)
		return -ENOMEM;
	text_make_plain(text);
	if (size > TEXT_CUT) {
		strcpy(text + TEXT_CUT - strlen(CUT), CUT);
		text_make_utf8(text);
	}
	*ret = steal_ptr(text);
	return 0;
}

int frame_values_add(struct frame_values *values, const struct sample *sample, uint32_t stack)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < sample->n_user; i++) {
		_cleanup_free_ char *text = NULL;
		struct frame_values_call *call;

		if (sample->user[i].probe == 0)
			continue;
		err = make_text(sample->labels, sample->user[i].probe, &text);
		if (err < 0 || *text == '\0')
			continue;
		call = find_or_add_call(values, stack, (uint32_t)i + 1);
		err = call ? add_text(values, call, text, sample) : -ENOMEM;
	}
	return err;
}

static bool has_frame(const struct sample *sample, unsigned int probe)
{
	for (size_t i = 0; probe > 0 && i < sample->n_user; i++)
		if (sample->user[i].probe == probe)
			return true;
	return false;
}

int frame_values_take_away(const struct sample *sample, struct label_set **ret)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };
	struct label label;
	size_t at = 0;
	int err = 0;

	*ret = NULL;
	while (err == 0 && label_set_next(sample->labels, &at, &label))
		if (!has_frame(sample, label.probe))
			err = label_list_add(&list, &label);
	return err < 0 || list.n == 0 ? err : label_set_new(&list, ret);
}

void value_texts_done(struct value_texts *texts)
{
	label_counts_done(&texts->counts);
	texts->all = 0;
}

static uint64_t value_of(const struct value *value, const struct stack *stack,
			 const struct count *count)
{
	struct stack part = *stack;

	part.count = count->count;
	part.time_ns = count->time_ns;
	return value_of_stack(value, &part);
}

int frame_values_sum(const struct frame_values *values, const struct stack *stack, uint32_t frame,
		     const struct value *value, struct value_texts *to)
{
	const struct frame_values_call *call =
		frame > 0 ? find_call(values, stack->number, frame) : NULL;
	int err = 0;

	if (!call)
		return 0;
	sum_increase(&to->all, value_of(value, stack, &call->count));
	for (const struct frame_values_text *t = call->texts; err == 0 && t; t = t->hh.next)
		err = label_counts_add_text(&to->counts, t->text,
					    value_of(value, stack, &t->count));
	return err;
}

void value_texts_describe(struct value_texts *texts, char buffer[VALUE_TEXTS_SIZE])
{
	const char *single = label_counts_single(&texts->counts, texts->all);

	snprintf(buffer, VALUE_TEXTS_SIZE, "%s", single ? single : "");
	if (!single && texts->all > 0)
		label_counts_describe_texts(&texts->counts, texts->all, buffer, VALUE_TEXTS_SIZE);
}
