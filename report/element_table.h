/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_ELEMENT_TABLE_H
#define DP_REPORT_ELEMENT_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/*
 * Structs that a format refers to by number, each once, in the order of their first use. They
 * are told apart by their bytes, so their padding has to be zero.
 */
struct element {
	UT_hash_handle hh;
	uint32_t number;
	_Alignas(8) unsigned char bytes[];
};

struct element_table {
	struct element *elements; /* in the order of their numbers */
};

void element_table_done(struct element_table *table);

/* The number of an element, which is added if it is new. 0 or -ENOMEM. */
int element_table_add(struct element_table *table, const void *bytes, size_t size, uint32_t *ret);

/* Its elements by number, as pointers to their bytes; NULL if memory is out. The caller frees it. */
void *element_table_list(const struct element_table *table);

#endif
