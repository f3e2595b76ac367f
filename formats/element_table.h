/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_ELEMENT_TABLE_H
#define DP_FORMATS_ELEMENT_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/*
 * Structs that a format refers to by number, each once, in the order of first use. They are
 * compared by their bytes, so padding must be zero.
 */
struct element {
	UT_hash_handle hh;
	uint32_t number;
	_Alignas(8) unsigned char bytes[];
};

struct element_table {
	struct element *elements; /* by number */
};

void element_table_done(struct element_table *table);

/* Returns the number of an element, and adds it if it is new. 0 or -ENOMEM. */
int element_table_add(struct element_table *table, const void *bytes, size_t size, uint32_t *ret);

/*
 * Returns pointers to the elements' bytes by number; NULL: out of memory. The caller frees the
 * array.
 */
void *element_table_list(const struct element_table *table);

#endif
