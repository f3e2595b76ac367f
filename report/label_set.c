// SPDX-License-Identifier: Apache-2.0
#include "report/label_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define CUT "…"

/* A text of a record. */
struct text {
	const char *at;
	size_t size;
	bool is_cut;
};

struct pair {
	struct text key, value;
};

size_t label_set_size(const struct label_set *set)
{
	return set ? (sizeof(*set) + set->size + 7) & ~(size_t)7 : 0;
}

struct label_set *label_set_free(struct label_set *set)
{
	free(set);
	return NULL;
}

/* With room for texts of so many bytes. */
static int set_new(size_t size, bool is_cut, struct label_set **ret)
{
	struct label_set head = { .size = size, .is_cut = is_cut };
	struct label_set *set = calloc(1, label_set_size(&head));

	if (!set)
		return -ENOMEM;
	/* Not *set = head: texts begin in what would be padding, and equal sets are equal bytes. */
	set->size = size;
	set->is_cut = is_cut;
	*ret = set;
	return 0;
}

/* A text of a record, which has so many bytes left. False: there are not so many. */
static bool take_text(const char **at, size_t *left, size_t size, struct text *ret)
{
	if (size > *left)
		return false;
	*ret = (struct text){ *at, size, size >= DP_LABEL_CUT };
	*at += size;
	*left -= size;
	/* Of a character that was cut, too, nothing is left. */
	while (ret->is_cut && ret->size > 0 && (ret->at[ret->size - 1] & 0xc0) == 0x80)
		ret->size--;
	if (ret->is_cut && ret->size > 0 && (ret->at[ret->size - 1] & 0x80))
		ret->size--;
	return true;
}

static int compare_texts(const struct text *a, const struct text *b)
{
	int order = memcmp(a->at, b->at, a->size < b->size ? a->size : b->size);

	return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	int order = compare_texts(&x->key, &y->key);

	return order ? order : compare_texts(&x->value, &y->value);
}

static size_t text_size(const struct text *text)
{
	return text->size + (text->is_cut ? strlen(CUT) : 0) + 1;
}

/* A zero would end it. Returns where the next one starts. */
static char *put_text(char *to, const struct text *text)
{
	for (size_t i = 0; i < text->size; i++)
		to[i] = (char)(text->at[i] ? text->at[i] : '?');
	to[text->size] = '\0';
	text_make_utf8(to);
	if (text->is_cut)
		strcpy(to + text->size, CUT);
	return to + strlen(to) + 1;
}

int label_set_new(const struct dp_labels *raw, size_t size, struct label_set **ret)
{
	const char *at = (const char *)(raw + 1);
	struct pair pairs[DP_MAX_LABELS];
	size_t n = 0, left, texts = 0;
	char *to;
	int err;

	if (size < sizeof(*raw) || size - sizeof(*raw) < raw->size || raw->n > DP_MAX_LABELS)
		return -EBADMSG;
	for (left = raw->size; n < raw->n; n++) {
		struct dp_label head;

		if (left < sizeof(head))
			return -EBADMSG;
		memcpy(&head, at, sizeof(head));
		at += sizeof(head);
		left -= sizeof(head);
		if (!take_text(&at, &left, head.key_size, &pairs[n].key) ||
		    !take_text(&at, &left, head.value_size, &pairs[n].value))
			return -EBADMSG;
		texts += text_size(&pairs[n].key) + text_size(&pairs[n].value);
	}
	err = set_new(texts, raw->n_left_out > 0 || raw->n_cut > 0, ret);
	if (err < 0)
		return err;
	qsort(pairs, n, sizeof(*pairs), compare_pairs);
	to = (*ret)->texts;
	for (size_t i = 0; i < n; i++)
		to = put_text(put_text(to, &pairs[i].key), &pairs[i].value);
	return 0;
}

int label_set_new_texts(const char *texts, size_t size, bool is_cut, struct label_set **ret)
{
	size_t n = 0;
	int err;

	for (size_t i = 0; i < size; i++)
		n += texts[i] == '\0';
	if (n % 2 != 0 || (size > 0 && texts[size - 1] != '\0'))
		return -EBADMSG;
	err = set_new(size, is_cut, ret);
	if (err < 0)
		return err;
	for (size_t at = 0; at < size; at += strlen(texts + at) + 1) {
		strcpy((*ret)->texts + at, texts + at);
		text_make_utf8((*ret)->texts + at);
	}
	return 0;
}

bool label_set_next(const struct label_set *set, size_t *at, struct label *ret)
{
	if (!set || *at >= set->size)
		return false;
	ret->key = set->texts + *at;
	ret->value = ret->key + strlen(ret->key) + 1;
	*at += strlen(ret->key) + 1 + strlen(ret->value) + 1;
	return true;
}
