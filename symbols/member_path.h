/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_MEMBER_PATH_H
#define DP_SYMBOLS_MEMBER_PATH_H

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "symbols/parameters.h"

/* A value in a program, of a type of its debug information, and how to get there. */
struct typed_place {
	struct dp_argument how;
	bool is_address; /* the result of `how` is the value's address, not the value */
	Dwarf_Die type;
	char *why; /* PARAMETER_WHY_SIZE bytes: what is wrong */
};

/* The type of an entry, without its names and qualifiers. False: it is void, or damaged. */
bool type_of(Dwarf_Die *die, Dwarf_Die *ret);
/* Of a type that type_of() has returned. */
bool type_is_struct(Dwarf_Die *type);

/* Follows "->a.b" from the place. 0 or -EINVAL, explained. */
int member_path_follow(struct typed_place *place, const char *path);

/*
 * Reads the value there, as the wanted type, or as its own if that is VALUE_N_TYPES. 0, with
 * place->how and *ret, or -EINVAL, explained.
 */
int typed_place_read(struct typed_place *place, enum value_type wanted, enum value_type *ret);

#endif
