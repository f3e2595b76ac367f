// SPDX-License-Identifier: Apache-2.0
#include "values/enumerator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int enumerators_add(struct enumerators *list, const char *name, uint64_t value)
{
	struct enumerator *e;

	if (!name || name[0] == '\0' || strlen(name) >= ENUMERATOR_NAME_SIZE)
		return 0;
	if (array_reserve(list->of, list->n, list->size) < 0)
		return -ENOMEM;
	e = &list->of[list->n++];
	*e = (struct enumerator){ .value = value };
	strcpy(e->name, name);
	return 0;
}

void enumerators_done(struct enumerators *list)
{
	free(list->of);
	*list = (struct enumerators){ 0 };
}

static bool is_power_of_two(uint64_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

/* Each from the least to the greatest is there. */
static bool are_consecutive(const struct enumerator *e, size_t n)
{
	uint64_t least = UINT64_MAX, greatest = 0;

	for (size_t i = 0; i < n; i++) {
		least = e[i].value < least ? e[i].value : least;
		greatest = e[i].value > greatest ? e[i].value : greatest;
	}
	if (greatest - least >= n)
		return false;
	for (uint64_t value = least; value < greatest; value++)
		if (!enumerator_name(e, n, value))
			return false;
	return true;
}

bool enumerators_are_flags(const struct enumerator *e, size_t n)
{
	uint64_t flags = 0;

	for (size_t i = 0; i < n; i++)
		flags |= is_power_of_two(e[i].value) ? e[i].value : 0;
	for (size_t i = 0; i < n; i++)
		if (e[i].value & ~flags)
			return false;
	return flags != 0 && !is_power_of_two(flags) && !are_consecutive(e, n);
}

bool enumerators_are_sound(const struct enumerator *e, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (e[i].name[0] == '\0' ||
		    strnlen(e[i].name, sizeof(e[i].name)) == sizeof(e[i].name))
			return false;
	return true;
}

const char *enumerator_name(const struct enumerator *e, size_t n, uint64_t value)
{
	for (size_t i = 0; i < n; i++)
		if (e[i].value == value)
			return e[i].name;
	return NULL;
}
