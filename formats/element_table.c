// SPDX-License-Identifier: Apache-2.0
#include "formats/element_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void element_table_done(struct element_table *table)
{
	struct element *e, *next;

	HASH_ITER(hh, table->elements, e, next) {
		HASH_DEL(table->elements, e);
		free(e);
	}
}

int element_table_add(struct element_table *table, const void *bytes, size_t size, uint32_t *ret)
{
	struct element *e;

	/* Those of nothing may be NULL, which memcpy() and memcmp() do not take. */
	if (size == 0)
		bytes = "";
	HASH_FIND(hh, table->elements, bytes, size, e);
	if (!e) {
		e = malloc(sizeof(*e) + size);
		if (!e)
			return -ENOMEM;
		memset(e, 0, sizeof(*e));
		e->number = HASH_COUNT(table->elements);
		memcpy(e->bytes, bytes, size);
		HASH_ADD_KEYPTR(hh, table->elements, e->bytes, size, e);
		if (!HASH_IS_ADDED(hh, e)) {
			free(e);
			return -ENOMEM;
		}
	}
	*ret = e->number;
	return 0;
}

void *element_table_list(const struct element_table *table)
{
	const void **list = calloc(HASH_COUNT(table->elements) + 1, sizeof(*list));

	for (const struct element *e = table->elements; list && e; e = e->hh.next)
		list[e->number] = e->bytes;
	return list;
}
