// SPDX-License-Identifier: Apache-2.0
#include "values/value_type.h"

#include <string.h>

static const struct {
	const char *word;
	size_t size;
	enum value_kind kind;
} rows[VALUE_N_TYPES] = {
#define X(name, word, size, kind) { word, size, VALUE_IS_##kind },
	VALUE_TYPES(X)
#undef X
};

enum value_type value_type_find(const char *name, size_t length)
{
	for (enum value_type i = 0; i < VALUE_N_TYPES; i++)
		if (strlen(rows[i].word) == length && memcmp(rows[i].word, name, length) == 0)
			return i;
	return VALUE_N_TYPES;
}

enum value_type value_type_of(enum value_kind kind, size_t size)
{
	for (enum value_type i = 0; i < VALUE_N_TYPES; i++)
		if (rows[i].kind == kind && rows[i].size == size)
			return i;
	return VALUE_N_TYPES;
}

const char *value_type_word(enum value_type type)
{
	return type < VALUE_N_TYPES ? rows[type].word : NULL;
}

size_t value_type_size(enum value_type type)
{
	return rows[type].size;
}

enum value_kind value_type_kind(enum value_type type)
{
	return rows[type].kind;
}

void value_types_list(FILE *to)
{
	for (enum value_type i = 0; i < VALUE_N_TYPES; i++)
		fprintf(to, "%s%s", i ? ", " : "", rows[i].word);
}

uint64_t value_type_extend(enum value_type type, uint64_t word)
{
	unsigned int unused = 64 - 8 * (unsigned int)rows[type].size;

	word <<= unused;
	if (rows[type].kind == VALUE_IS_SIGNED)
		return (uint64_t)((int64_t)word >> unused);
	return word >> unused;
}
