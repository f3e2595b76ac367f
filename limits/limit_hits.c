// SPDX-License-Identifier: Apache-2.0
#include "limits/limit_hits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static _Thread_local struct limit_hits *noted;

static bool has(const struct limit_hits *hits, enum limit_number limit)
{
	return hits->bits[limit / 64] >> limit % 64 & 1;
}

static const struct limit *row_of(enum limit_number limit)
{
	size_t n, number = 0;
	const struct limit *rows = limits_list(&n);

	for (size_t i = 0; i < n; i++)
		if (!rows[i].group && number++ == limit)
			return &rows[i];
	return NULL;
}

static bool is_about_names(enum limit_number limit)
{
	return strcmp(row_of(limit)->words, LIMIT_NAMES_WORDS) == 0;
}

struct limit_hits *limit_hits_collect(struct limit_hits *to)
{
	struct limit_hits *before = noted;

	noted = to;
	return before;
}

void limit_hit(enum limit_number limit)
{
	if (noted && !has(noted, limit) && is_about_names(limit))
		noted->bits[limit / 64] |= UINT64_C(1) << limit % 64;
}

void limit_hits_pass(const struct limit_hits *hits)
{
	for (enum limit_number i = 0; i < LIMITS_N; i++)
		if (has(hits, i))
			limit_hit(i);
}

bool limit_hits_any(const struct limit_hits *hits)
{
	uint64_t any = 0;

	for (size_t i = 0; i < ARRAY_SIZE(hits->bits); i++)
		any |= hits->bits[i];
	return any != 0;
}

bool limit_hits_add(struct limit_hits *to, const struct limit_hits *from,
		    struct limit_hits *ret_new)
{
	for (size_t i = 0; i < ARRAY_SIZE(to->bits); i++) {
		ret_new->bits[i] = from->bits[i] & ~to->bits[i];
		to->bits[i] |= from->bits[i];
	}
	return limit_hits_any(ret_new);
}

static void write_row(const struct limit *row, const char *before, FILE *to)
{
	char value[LIMIT_TEXT_SIZE];

	limit_write(row, value);
	fprintf(to, "%sbeyond %s (%s), %s (%s)", before, value, row->what, row->beyond, row->name);
}

char *limit_hits_text(const struct limit_hits *hits)
{
	const char *before = LIMIT_NAMES_WORDS " ";
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	for (enum limit_number i = 0; to && i < LIMITS_N; i++) {
		if (!has(hits, i))
			continue;
		write_row(row_of(i), before, to);
		before = "; ";
	}
	if (!to || fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}
