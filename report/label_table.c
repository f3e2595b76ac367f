// SPDX-License-Identifier: Apache-2.0
#include "report/label_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct label_entry {
	UT_hash_handle hh; /* by the bytes of the set */
	_Alignas(struct label_set) char set[];
};

void label_table_done(struct label_table *table)
{
	struct label_entry *e, *next;

	HASH_ITER(hh, table->entries, e, next) {
		HASH_DEL(table->entries, e);
		free(e);
	}
}

int label_table_add(struct label_table *table, const struct label_set *set,
		    const struct label_set **ret)
{
	size_t size = label_set_size(set);
	struct label_entry *e;

	*ret = NULL;
	if (!set)
		return 0;
	HASH_FIND(hh, table->entries, set, size, e);
	if (!e) {
		e = calloc(1, sizeof(*e) + size);
		if (!e)
			return -ENOMEM;
		memcpy(e->set, set, size);
		HASH_ADD(hh, table->entries, set, size, e);
		if (!HASH_IS_ADDED(hh, e)) {
			free(e);
			return -ENOMEM;
		}
	}
	*ret = (const void *)e->set;
	return 0;
}
