// SPDX-License-Identifier: Apache-2.0
#include "report/label_set.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "limits/limits.h"

/*
 * A label in a set: its zero-terminated key, its kind, its probe, and its value: a text, or a number and
 * its unit; texts are zero-terminated.
 */
enum label_kind {
	LABEL_TEXT = 't',
	LABEL_DECIMAL = 'd', /* a text, too */
	LABEL_NUMBER = 'n',
};

#define CUT "…"

/* A text of a record. */
struct text {
	const char *at;
	size_t size;
	bool is_cut;
};

void label_print(const struct label *label, FILE *to)
{
	if (label->text)
		fprintf(to, "%s=%s", label->key, label->text);
	else
		fprintf(to, "%s=%" PRId64 "%s%s", label->key, label->number,
			*label->unit ? " " : "", label->unit);
}

size_t label_set_size(const struct label_set *set)
{
	return set ? (sizeof(*set) + set->size + 7) & ~(size_t)7 : 0;
}

struct label_set *label_set_free(struct label_set *set)
{
	free(set);
	return NULL;
}

/* Returns the end of the label that begins at `from`. */
static size_t label_read(const char *bytes, size_t from, struct label *ret)
{
	const char *at = bytes + from;
	char kind;

	*ret = (struct label){ .key = at };
	at += strlen(at) + 1;
	kind = *at++;
	ret->probe = (unsigned char)*at++;
	ret->is_decimal = kind == LABEL_DECIMAL;
	if (kind != LABEL_NUMBER) {
		ret->text = at;
	} else {
		memcpy(&ret->number, at, sizeof(ret->number));
		at += sizeof(ret->number);
		ret->unit = at;
	}
	return (size_t)(at + strlen(at) + 1 - bytes);
}

bool label_set_next(const struct label_set *set, size_t *at, struct label *ret)
{
	if (!set || *at >= set->size)
		return false;
	*at = label_read(set->bytes, *at, ret);
	return true;
}

bool label_set_has(const struct label_set *set, const char *key, const char *text)
{
	struct label label;
	size_t at = 0;

	while (label_set_next(set, &at, &label))
		if (label.text && strcmp(label.key, key) == 0 && strcmp(label.text, text) == 0)
			return true;
	return false;
}

void label_list_done(struct label_list *list)
{
	free(list->bytes);
	free(list->starts);
	*list = (struct label_list){ 0 };
}

static int list_reserve(struct label_list *list, size_t size)
{
	size_t room = 2 * list->size + size;
	char *grown;

	if (size <= list->room - list->size)
		return 0;
	grown = realloc(list->bytes, room);
	if (!grown)
		return -ENOMEM;
	list->bytes = grown;
	list->room = room;
	return 0;
}

static void put_bytes(struct label_list *list, const void *bytes, size_t size)
{
	memcpy(list->bytes + list->size, bytes, size);
	list->size += size;
}

static void put_text(struct label_list *list, const char *text)
{
	char *copy = list->bytes + list->size;

	put_bytes(list, text, strlen(text) + 1);
	text_make_utf8(copy);
}

int label_list_add(struct label_list *list, const struct label *label)
{
	const char *last = label->text ? label->text : label->unit;
	size_t size = strlen(label->key) + strlen(last) + sizeof(label->number) + 4;
	char kind = LABEL_NUMBER;

	if (label->text)
		kind = LABEL_TEXT;
	if (label->text && label->is_decimal)
		kind = LABEL_DECIMAL;
	if (size > LABEL_SET_MAX - list->size) {
		list->is_cut = true;
		return 0;
	}
	if (list_reserve(list, size) < 0 ||
	    array_reserve(list->starts, list->n, list->starts_size) < 0)
		return -ENOMEM;
	list->starts[list->n++] = list->size;
	put_text(list, label->key);
	put_bytes(list, &kind, sizeof(kind));
	put_bytes(list, &label->probe, sizeof(label->probe));
	if (!label->text)
		put_bytes(list, &label->number, sizeof(label->number));
	put_text(list, last);
	return 0;
}

bool label_list_has_key(const struct label_list *list, size_t n, const char *key)
{
	for (size_t i = 0; i < n && i < list->n; i++)
		if (strcmp(list->bytes + list->starts[i], key) == 0)
			return true;
	return false;
}

/* Sets the probe of a label. */
static void mark(char *label, unsigned char probe)
{
	label[strlen(label) + 2] = (char)probe;
}

void label_list_mark(struct label_list *list, size_t from, unsigned int probe)
{
	for (size_t i = from; i < list->n; i++)
		mark(list->bytes + list->starts[i], (unsigned char)probe);
}

void label_set_mark(struct label_set *set, const struct label *label, unsigned int probe)
{
	mark(set->bytes + (label->key - set->bytes), (unsigned char)probe);
}

bool label_set_is_marked(const struct label_set *set)
{
	struct label label;
	size_t at = 0;

	while (label_set_next(set, &at, &label))
		if (label.probe > 0)
			return true;
	return false;
}

static void remove_at(struct label_list *list, size_t i)
{
	const size_t start = list->starts[i];
	const size_t end = i + 1 < list->n ? list->starts[i + 1] : list->size;

	memmove(list->bytes + start, list->bytes + end, list->size - end);
	list->size -= end - start;
	list->n--;
	for (; i < list->n; i++)
		list->starts[i] = list->starts[i + 1] - (end - start);
}

void label_list_remove(struct label_list *list, const char *key)
{
	for (size_t i = list->n; i-- > 0;)
		if (strcmp(list->bytes + list->starts[i], key) == 0)
			remove_at(list, i);
}

/* Takes a text of `size` bytes from a record. False: the record is too short. */
static bool take_text(const char **at, size_t *left, size_t size, struct text *ret)
{
	if (size > *left)
		return false;
	*ret = (struct text){ *at, size, size >= DP_LABEL_CUT };
	*at += size;
	*left -= size;
	/* Remove the rest of a character that was cut, too. */
	while (ret->is_cut && ret->size > 0 && (ret->at[ret->size - 1] & 0xc0) == 0x80)
		ret->size--;
	if (ret->is_cut && ret->size > 0 && (ret->at[ret->size - 1] & 0x80))
		ret->size--;
	return true;
}

#define TEXT_ROOM (DP_LABEL_CUT + sizeof(CUT))

/* A zero byte would end it. */
static void copy_text(char to[TEXT_ROOM], const struct text *text)
{
	for (size_t i = 0; i < text->size; i++)
		to[i] = (char)(text->at[i] ? text->at[i] : '?');
	strcpy(to + text->size, text->is_cut ? CUT : "");
}

static int add_texts(struct label_list *list, const struct text *key, const struct text *value)
{
	char key_copy[TEXT_ROOM], value_copy[TEXT_ROOM];

	copy_text(key_copy, key);
	copy_text(value_copy, value);
	return label_list_add(list, &(struct label){ .key = key_copy, .text = value_copy });
}

static bool is_among(const struct text *texts, size_t n, const struct text *text)
{
	for (size_t i = 0; i < n; i++)
		if (texts[i].size == text->size && memcmp(texts[i].at, text->at, text->size) == 0)
			return true;
	return false;
}

int label_list_add_raw(struct label_list *list, const struct dp_labels *raw)
{
	const char *at = (const char *)(raw + 1);
	struct text keys[DP_MAX_LABELS];
	size_t left;

	if (raw->part.size < sizeof(*raw) || raw->n > DP_MAX_LABELS)
		return -EBADMSG;
	left = raw->part.size - sizeof(*raw);
	for (size_t i = 0; i < raw->n; i++) {
		struct text value;
		struct dp_label head;
		int err;

		if (left < sizeof(head))
			return -EBADMSG;
		memcpy(&head, at, sizeof(head));
		at += sizeof(head);
		left -= sizeof(head);
		if (!take_text(&at, &left, head.key_size, &keys[i]) ||
		    !take_text(&at, &left, head.value_size, &value))
			return -EBADMSG;
		err = is_among(keys, i, &keys[i]) ? 0 : add_texts(list, &keys[i], &value);
		if (err < 0)
			return err;
	}
	list->is_cut |= raw->n_left_out > 0 || raw->n_cut > 0;
	return 0;
}

/* By key, texts before numbers, then by value. */
static int compare_labels(const void *a, const void *b, void *bytes)
{
	struct label x, y;
	int order;

	label_read(bytes, *(const size_t *)a, &x);
	label_read(bytes, *(const size_t *)b, &y);
	order = strcmp(x.key, y.key);
	if (order == 0)
		order = !x.text - !y.text;
	if (order == 0 && x.text)
		order = strcmp(x.text, y.text) ?: x.is_decimal - y.is_decimal;
	if (order == 0 && !x.text)
		order = (x.number > y.number) - (x.number < y.number);
	return order || x.text ? order : strcmp(x.unit, y.unit);
}

int label_set_new(const struct label_list *list, struct label_set **ret)
{
	const struct label_set head = { .size = list->size };
	struct label_set *set = calloc(1, label_set_size(&head));
	_cleanup_free_ size_t *starts = calloc(list->n + 1, sizeof(*starts));
	const char *from = list->bytes;
	size_t to = 0;

	if (!set || !starts) {
		free(set);
		return -ENOMEM;
	}
	/* Not *set = head: the bytes begin in what would be padding. */
	set->size = head.size;
	set->is_cut = list->is_cut;
	if (list->n > 0) {
		memcpy(starts, list->starts, list->n * sizeof(*starts));
		qsort_r(starts, list->n, sizeof(*starts), compare_labels, list->bytes);
	}
	for (size_t i = 0; i < list->n; i++) {
		struct label label;
		size_t size = label_read(from, starts[i], &label) - starts[i];

		memcpy(set->bytes + to, from + starts[i], size);
		to += size;
	}
	*ret = set;
	return 0;
}

static int add_set(struct label_list *list, const struct label_set *set)
{
	struct label label;
	size_t at = 0;
	int err = 0;

	while (err == 0 && label_set_next(set, &at, &label))
		err = label_list_add(list, &label);
	list->is_cut |= set && set->is_cut;
	return err;
}

int label_set_join(const struct label_set *a, const struct label_set *b, struct label_set **ret)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };
	int err = add_set(&list, a);

	*ret = NULL;
	if (err == 0)
		err = add_set(&list, b);
	return err < 0 ? err : label_set_new(&list, ret);
}
