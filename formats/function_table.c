// SPDX-License-Identifier: Apache-2.0
#include "formats/function_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct function_line {
	UT_hash_handle hh;
	struct line_key {
		uint32_t function;
		unsigned int line, column;
	} key;
	uint64_t weight;
};

void function_table_done(struct function_table *table)
{
	struct function_entry *f, *next_f;
	struct function_line *l, *next_l;

	HASH_ITER(hh, table->functions, f, next_f) {
		HASH_DEL(table->functions, f);
		value_texts_done(&f->texts);
		free(f);
	}
	HASH_ITER(hh, table->lines, l, next_l) {
		HASH_DEL(table->lines, l);
		free(l);
	}
}

static int keep(struct report *report, const char *string, const char **ret)
{
	uint32_t number;
	int err = string_table_add(&report->strings, string, &number);

	if (err == 0)
		*ret = report->strings.strings[number];
	return err;
}

int symbolized_source(struct report *report, const struct symbolized_frame *symbolized,
		      const char **ret)
{
	_cleanup_free_ char *path = NULL;

	*ret = symbolized->file;
	if (!symbolized->file || symbolized->file[0] == '/' || !symbolized->dir)
		return 0;
	if (asprintf(&path, "%s/%s", symbolized->dir, symbolized->file) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	return keep(report, path, ret);
}

static int find_function(struct function_table *table, const struct function_key *key,
			 struct function_entry **ret)
{
	struct function_entry *f;

	HASH_FIND(hh, table->functions, key, sizeof(*key), f);
	if (!f) {
		f = calloc(1, sizeof(*f));
		if (!f)
			return -ENOMEM;
		f->key = *key;
		f->number = HASH_COUNT(table->functions);
		HASH_ADD(hh, table->functions, key, sizeof(f->key), f);
		if (!HASH_IS_ADDED(hh, f)) {
			free(f);
			return -ENOMEM;
		}
	}
	*ret = f;
	return 0;
}

static int add_line(struct function_table *table, struct function_entry *f,
		    const struct symbolized_frame *symbolized, uint64_t weight)
{
	struct line_key key = { f->number, symbolized->line, symbolized->column };
	struct function_line *l;

	HASH_FIND(hh, table->lines, &key, sizeof(key), l);
	if (!l) {
		l = calloc(1, sizeof(*l));
		if (!l)
			return -ENOMEM;
		l->key = key;
		HASH_ADD(hh, table->lines, key, sizeof(l->key), l);
		if (!HASH_IS_ADDED(hh, l)) {
			free(l);
			return -ENOMEM;
		}
	}
	l->weight += weight;
	if (l->weight > f->weight) {
		f->weight = l->weight;
		f->line = key.line;
		f->column = key.column;
	}
	return 0;
}

int function_table_add(struct function_table *table, struct report *report,
		       const struct symbolized_frame *symbolized, uint64_t weight,
		       struct function_entry **ret)
{
	bool is_mark = symbolized->kind == SYMBOLIZED_MARK;
	struct function_key key = { .kind = is_mark ? NULL :
						      frame_kind_word(symbolized->language) };
	struct function_entry *f = NULL;
	int err;

	err = keep(report, symbolized->name, &key.name);
	if (err == 0)
		err = symbolized_source(report, symbolized, &key.file);
	if (err == 0 && !key.file && symbolized->binary)
		err = keep(report, symbolized->binary, &key.file);
	if (err == 0)
		err = find_function(table, &key, &f);
	if (err < 0)
		return err;
	*ret = f;
	return symbolized->file && symbolized->line > 0 ? add_line(table, f, symbolized, weight) :
							  0;
}
