/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_VALUES_MEMBER_PATH_H
#define DP_VALUES_MEMBER_PATH_H

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "values/parameters.h"

/* A part of an object that is in several places, such as registers. */
struct placed_piece {
	uint64_t offset; /* in the object */
	bool is_address;
	struct dp_argument how;
};

#define TYPED_PLACE_PIECES 8

/* A value in a program, of a type of its debug information, and how to get there. */
struct typed_place {
	struct dp_argument how;
	bool is_address; /* the result of `how` is the value's address, not the value */
	Dwarf_Die type;
	char *why; /* PARAMETER_WHY_SIZE bytes: what is wrong */
	/* If there are any, the object is in pieces, as if its address was 0. Some may be missing. */
	size_t n_pieces;
	struct placed_piece pieces[TYPED_PLACE_PIECES];
	struct dp_argument length; /* of a text by itself, DP_TEXT_SIZED */
};

/* The type of an entry, without its names and qualifiers. False: it is void, or damaged. */
bool type_of(Dwarf_Die *die, Dwarf_Die *ret);
/* Of a type that type_of() has returned. */
bool type_is_struct(Dwarf_Die *type);
bool type_is_float(Dwarf_Die *type);
#define IN_FLOAT_REGISTER "it is in a register for floats, which no probe can read"
/*
 * Finds a member by n bytes of its name, also in nameless members and base classes; and where one is in
 * its struct. False: there is none, or it is elsewhere: static, or of a virtual base.
 */
bool type_find_member(Dwarf_Die *type, const char *name, size_t n, Dwarf_Die *ret,
		      uint64_t *ret_offset);
bool type_member_offset(Dwarf_Die *member, uint64_t *ret);

/* Adds a piece. False: there is no room. */
bool typed_place_add(struct typed_place *place, uint64_t offset, const struct typed_place *piece);

/* Follows "->a.b" from the place. 0 or -EINVAL, explained. */
int member_path_follow(struct typed_place *place, const char *path);

/*
 * Reads the value there, as the wanted type, or as its own if that is VALUE_N_TYPES. 0, with
 * place->how, place->length and *ret, or -EINVAL, explained.
 */
int typed_place_read(struct typed_place *place, enum value_type wanted, enum value_type *ret);

#endif
