// SPDX-License-Identifier: Apache-2.0
#include "report/string_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

struct string_entry {
	UT_hash_handle hh;
	uint32_t number;
	char text[];
};

void string_table_done(struct string_table *table)
{
	struct string_entry *e, *next;

	HASH_ITER(hh, table->entries, e, next) {
		HASH_DEL(table->entries, e);
		free(e);
	}
	free(table->strings);
	*table = (struct string_table){ 0 };
}

int string_table_add(struct string_table *table, const char *string, uint32_t *ret)
{
	size_t size = strlen(string);
	struct string_entry *e;

	HASH_FIND(hh, table->entries, string, size, e);
	if (e) {
		*ret = e->number;
		return 0;
	}
	if (table->n == UINT32_MAX || array_reserve(table->strings, table->n, table->size) < 0)
		return -ENOMEM;
	e = calloc(1, sizeof(*e) + size + 1);
	if (!e)
		return -ENOMEM;
	memcpy(e->text, string, size);
	e->number = (uint32_t)table->n;
	HASH_ADD_KEYPTR(hh, table->entries, e->text, size, e);
	if (!HASH_IS_ADDED(hh, e)) {
		free(e);
		return -ENOMEM;
	}
	table->strings[table->n++] = e->text;
	*ret = e->number;
	return 0;
}
