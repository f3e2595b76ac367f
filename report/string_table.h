/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_STRING_TABLE_H
#define DP_REPORT_STRING_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* Strings that a format refers to by number, each once, in the order of first use. */
struct string_table {
	struct string_entry *entries;
	const char **strings; /* by number */
	size_t n, size;
};

void string_table_done(struct string_table *table);

/* Returns the number of a string, and copies it if it is new. 0 or -ENOMEM. */
int string_table_add(struct string_table *table, const char *string, uint32_t *ret);

#endif
