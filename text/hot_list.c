// SPDX-License-Identifier: Apache-2.0
#include "text/hot_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/sum.h"
#include "base/text.h"
#include "report/group.h"
#include "report/value.h"
#include "text/hottest.h"
#include "text/wait_reason.h"

void hot_list_done(struct hot_list *list)
{
	struct hot *f, *next;

	HASH_ITER(hh, list->functions, f, next) {
		HASH_DEL(list->functions, f);
		label_counts_done(&f->labels);
		free(f);
	}
	free(list->path);
	list->path = NULL;
	list->n_path = list->path_size = 0;
	symbolized_stack_done(&list->symbolized);
}

static struct hot *hot_new(const char *path, const char *name)
{
	size_t path_size = strlen(path) + 1, name_size = strlen(name) + 1;
	struct hot *f = calloc(1, sizeof(*f) + path_size + name_size);

	if (!f)
		return NULL;
	f->key_size = path_size + name_size;
	memcpy(f->key, path, path_size);
	memcpy(f->key + path_size, name, name_size);
	text_make_plain(f->key);
	text_make_plain(f->key + path_size);
	f->name = f->key + path_size;
	return f;
}

static struct hot *find_or_add(struct hot_list *list, const char *path, const char *name)
{
	struct hot *f = hot_new(path, name), *known;

	if (!f)
		return NULL;
	HASH_FIND(hh, list->functions, f->key, f->key_size, known);
	if (known) {
		free(f);
		return known;
	}
	HASH_ADD_KEYPTR(hh, list->functions, f->key, f->key_size, f);
	if (!HASH_IS_ADDED(hh, f)) {
		free(f);
		return NULL;
	}
	return f;
}

/* The innermost user function: kernel functions above it only carry the wait out. */
static size_t find_waiting(const struct symbolized_stack *stack)
{
	size_t first = stack->n;

	for (size_t i = 0; i < stack->n; i++) {
		if (stack->items[i].kind == SYMBOLIZED_USER)
			return i;
		if (first == stack->n && stack->items[i].kind == SYMBOLIZED_KERNEL)
			first = i; /* a kernel thread's */
	}
	return first;
}

/* The function that was running, or that waits. */
static size_t find_leaf(const struct stack *stack, const struct symbolized_stack *symbolized)
{
	size_t i = 0;

	if (stack->common.event == DP_EVENT_OFF_CPU)
		return find_waiting(symbolized);
	while (i < symbolized->n && symbolized->items[i].kind == SYMBOLIZED_MARK)
		i++;
	return i;
}

static struct hot *find_function(struct hot_list *list, const struct symbolized_frame *symbolized,
				 const char *reason)
{
	const char *binary = symbolized->binary ? symbolized->binary : "?";
	char buffer[FRAME_LABEL_SIZE];
	const char *name = hottest_name(symbolized, buffer);
	_cleanup_free_ char *with_reason = NULL;

	if (!reason)
		return find_or_add(list, binary, name);
	if (asprintf(&with_reason, "%s [%s]", name, reason) < 0) {
		with_reason = NULL;
		return NULL;
	}
	return find_or_add(list, binary, with_reason);
}

/* Finds the functions of a stack, including inlined ones. */
static int find_path(struct hot_list *list, const struct stack *stack)
{
	int err = symbolized_stack_make(list->report, stack, 0, &list->symbolized);
	size_t leaf = err == 0 ? find_leaf(stack, &list->symbolized) : 0;
	bool waits = stack->common.event == DP_EVENT_OFF_CPU;
	char buffer[WAIT_REASON_SIZE];

	list->n_path = 0;
	list->leaf = HOT_NO_LEAF;
	for (size_t i = 0; err == 0 && i < list->symbolized.n; i++) {
		const struct symbolized_frame *symbolized = &list->symbolized.items[i];
		const char *reason = NULL;
		struct hot *f;

		if (symbolized->kind == SYMBOLIZED_MARK)
			continue;
		if (waits && i == leaf)
			reason = wait_reason(stack->common.state, &list->symbolized, buffer);
		f = find_function(list, symbolized, reason);
		if (!f || array_reserve(list->path, list->n_path, list->path_size) < 0)
			return -ENOMEM;
		if (i == leaf)
			list->leaf = list->n_path;
		list->path[list->n_path++] = f;
	}
	return err;
}

/* Those of the key that was asked for; the set has no others of its name. */
static int count_labels(const struct hot_list *list, struct hot *f, const struct stack *stack,
			uint64_t value)
{
	const char *key = list->report->context.by->key;
	char text[2 * HOT_LABEL_SIZE];
	struct label label;
	size_t at = 0;
	int err = 0;

	while (err == 0 && label_set_next(stack->common.labels, &at, &label)) {
		if (strcmp(label.key, key) != 0)
			continue;
		if (label.text)
			snprintf(text, sizeof(text), "%s", label.text);
		else
			snprintf(text, sizeof(text), "%" PRId64 "%s%s", label.number,
				 *label.unit ? " " : "", label.unit);
		text_make_plain(text);
		err = label_counts_add_text(&f->labels, text, value);
	}
	return err;
}

int hot_list_add(struct hot_list *list, const struct stack *stack)
{
	const struct value measured = value_measured(&list->report->context);
	uint64_t value = value_of_stack(list->value ? list->value : &measured, stack);
	int err = find_path(list, stack);

	for (size_t i = 0; err == 0 && i < list->n_path; i++) {
		struct hot *f = list->path[i];

		if (i == list->leaf)
			sum_increase(&f->self, value);
		if (f->last_stack == stack->user)
			continue;
		sum_increase(&f->total, value);
		f->last_stack = stack->user;
		if (list->has_labels)
			err = count_labels(list, f, stack, value);
	}
	return err;
}

static int hot_compare(struct hot *a, struct hot *b)
{
	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return strcmp(a->name, b->name) ? strcmp(a->name, b->name) : strcmp(a->key, b->key);
}

void hot_list_sort(struct hot_list *list)
{
	HASH_SORT(list->functions, hot_compare);
}

void hot_describe_label(const struct hot *f, char buffer[HOT_LABEL_SIZE])
{
	uint64_t value;
	const char *text = label_counts_heaviest(&f->labels, &value);

	buffer[0] = '\0';
	if (!text || f->total == 0)
		return;
	snprintf(buffer, HOT_LABEL_SIZE, "%3.0f %% %s", 100 * (double)value / (double)f->total,
		 text);
	text_make_plain(buffer); /* it may have been cut in a character */
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *hot_binary(const struct hot *f)
{
	return base_name(f->key);
}

const char *hot_list_binary(const struct hot_list *list, const struct hot *f)
{
	const char *base = base_name(f->key);

	for (const struct hot *other = list->functions; other; other = other->hh.next)
		if (other != f && strcmp(other->name, f->name) == 0 &&
		    strcmp(base_name(other->key), base) == 0)
			return f->key;
	return base;
}
