/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_VALUES_ENUMERATOR_H
#define DP_VALUES_ENUMERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Further enumerators of a type remain numbers, and so do those with longer names. */
#define ENUMERATOR_NAME_SIZE 64

struct enumerator {
	uint64_t value; /* as value_type_extend() has it */
	char name[ENUMERATOR_NAME_SIZE];
};

/* The enumerators of types, one type after the other. */
struct enumerators {
	struct enumerator *of;
	size_t n, size;
};

/*
 * Appends one. Those without a name, or with one that is too long, are left out. 0 or -ENOMEM;
 * enumerators_done() frees the list.
 */
int enumerators_add(struct enumerators *list, const char *name, uint64_t value);
void enumerators_done(struct enumerators *list);

/*
 * Are values sums of such flags? At least two are powers of two, all others sums of these, and they
 * are not just numbered one after the other.
 */
bool enumerators_are_flags(const struct enumerator *enumerators, size_t n);

/* Do all have names? Their characters may be any, as those of texts that programs have. */
bool enumerators_are_sound(const struct enumerator *enumerators, size_t n);

/* The name of the first with this value; NULL: there is none. */
const char *enumerator_name(const struct enumerator *enumerators, size_t n, uint64_t value);

#endif
