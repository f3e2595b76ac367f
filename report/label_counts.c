// SPDX-License-Identifier: Apache-2.0
#include "report/label_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/sum.h"
#include "base/text.h"
#include "limits/limits.h"
#include "report/value.h"

/* Longer ones are cut, and counted together if they then are equal. */
#define TEXT_MAX 256

struct label_counts_entry {
	UT_hash_handle hh; /* by the text */
	uint64_t value;
	size_t key_size; /* of the text up to "=" */
	char text[];
};

void label_counts_done(struct label_counts *counts)
{
	struct label_counts_entry *e, *next;

	HASH_ITER(hh, counts->entries, e, next) {
		HASH_DEL(counts->entries, e);
		free(e);
	}
}

static int add_text(struct label_counts *counts, const char *text, size_t key_size, uint64_t value)
{
	size_t size = strlen(text);
	struct label_counts_entry *e;

	HASH_FIND(hh, counts->entries, text, size, e);
	if (!e) {
		if (HASH_COUNT(counts->entries) >= LABEL_COUNTS_MAX)
			return 0;
		e = calloc(1, sizeof(*e) + size + 1);
		if (!e)
			return -ENOMEM;
		e->key_size = key_size;
		memcpy(e->text, text, size);
		HASH_ADD(hh, counts->entries, text, size, e);
		if (!HASH_IS_ADDED(hh, e)) {
			free(e);
			return -ENOMEM;
		}
	}
	sum_increase(&e->value, value);
	return 0;
}

int label_counts_add_text(struct label_counts *counts, const char *text, uint64_t value)
{
	return add_text(counts, text, 0, value);
}

bool label_counts_have_text(const struct label_counts *counts, const char *text)
{
	const struct label_counts_entry *e;

	HASH_FIND(hh, counts->entries, text, strlen(text), e);
	return e;
}

size_t label_counts_n(const struct label_counts *counts)
{
	return HASH_COUNT(counts->entries);
}

const char *label_counts_single(const struct label_counts *counts, uint64_t value)
{
	const struct label_counts_entry *e = counts->entries;

	return e && !e->hh.next && e->value == value ? e->text : NULL;
}

static int add_label(struct label_counts *counts, const struct label *label, uint64_t value)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return -ENOMEM;
	label_print(label, to);
	if (fclose(to) != 0)
		return -ENOMEM;
	if (size > TEXT_MAX)
		text[TEXT_MAX] = '\0';
	text_make_plain(text);
	return add_text(counts, text, strnlen(label->key, TEXT_MAX), value);
}

int label_counts_add(struct label_counts *counts, const struct report_context *context,
		     const struct sample *sample)
{
	const struct value measured = value_measured(context);
	struct label label;
	size_t at = 0;
	int err = 0;

	while (err == 0 && label_set_next(sample->labels, &at, &label))
		err = add_label(counts, &label, value_of_sample(&measured, sample));
	return err;
}

static int compare(const struct label_counts_entry *a, const struct label_counts_entry *b)
{
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return strcmp(a->text, b->text);
}

const char *label_counts_heaviest(const struct label_counts *counts, uint64_t *ret_value)
{
	const struct label_counts_entry *best = counts->entries;

	for (const struct label_counts_entry *e = best; e; e = e->hh.next)
		if (compare(e, best) < 0)
			best = e;
	*ret_value = best ? best->value : 0;
	return best ? best->text : NULL;
}

static bool has_same_key(const struct label_counts_entry *a, const struct label_counts_entry *b)
{
	return a->key_size == b->key_size && memcmp(a->text, b->text, a->key_size) == 0;
}

/* True if no entry before it has the same key. */
static bool is_first(const struct label_counts *counts, const struct label_counts_entry *entry)
{
	const struct label_counts_entry *e = counts->entries;

	while (e != entry && !has_same_key(e, entry))
		e = e->hh.next;
	return e == entry;
}

static int tell_key(const struct label_counts_entry *first, size_t max,
		    int (*fn)(void *arg, const struct label_count *count, size_t rest), void *arg)
{
	size_t n = 0, n_told = 0;
	int err = 0;

	for (const struct label_counts_entry *e = first; e; e = e->hh.next)
		n += has_same_key(e, first);
	for (const struct label_counts_entry *e = first; err == 0 && e && n_told < max;
	     e = e->hh.next) {
		if (!has_same_key(e, first))
			continue;
		n_told++;
		err = fn(arg, &(struct label_count){ e->text, e->value },
			 n_told == max ? n - max : 0);
	}
	return err;
}

int label_counts_for_each(struct label_counts *counts, size_t max_keys, size_t max_values,
			  int (*fn)(void *arg, const struct label_count *count, size_t rest),
			  void *arg)
{
	size_t n_keys = 0;
	int err = 0;

	HASH_SORT(counts->entries, compare);
	for (const struct label_counts_entry *e = counts->entries;
	     err == 0 && e && n_keys < max_keys; e = e->hh.next) {
		if (!is_first(counts, e))
			continue;
		n_keys++;
		err = tell_key(e, max_values, fn, arg);
	}
	return err;
}

/* Keys, and labels of each, on a line. */
#define LINE_KEYS 2
#define LINE_LABELS 4

struct line {
	char *text;
	size_t size;
	double all;
	bool tells_rest;
};

static int describe(void *arg, const struct label_count *count, size_t rest)
{
	struct line *line = arg;
	size_t length = strlen(line->text);
	double share = line->all > 0 ? 100 * (double)count->value / line->all : 0;

	length += (size_t)snprintf(line->text + length, line->size - length, "%s%s %.1f %%",
				   length > 0 ? ", " : "", count->text, share);
	if (line->tells_rest && rest > 0 && length < line->size)
		snprintf(line->text + length, line->size - length, ", and %zu more", rest);
	return 0;
}

void label_counts_describe(struct label_counts *counts, uint64_t all, char *buffer, size_t size)
{
	struct line line = { buffer, size, (double)all, false };

	buffer[0] = '\0';
	(void)label_counts_for_each(counts, LINE_KEYS, LINE_LABELS, describe, &line);
}

void label_counts_describe_texts(struct label_counts *counts, uint64_t all, char *buffer,
				 size_t size)
{
	struct line line = { buffer, size, (double)all, true };

	buffer[0] = '\0';
	(void)label_counts_for_each(counts, 1, LINE_LABELS, describe, &line);
}
