/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_VALUES_LOCATION_PLACE_H
#define DP_VALUES_LOCATION_PLACE_H

#include "values/member_path.h"

/* A place in a program's code. */
struct code_place {
	Dwarf_Die function; /* whose code it is */
	uint64_t address;
	bool is_entry; /* of the function: locations may hold only behind the prologue */
	int cfa_reg; /* at the entry and elsewhere: the CFA is this register; -1: it is not known */
	int64_t cfa_offset; /* and so many bytes */
};

/*
 * Finds where a parameter or variable is stored at a place: by its location description (DWARF 5 section 2.6), or, at
 * the entry of a function, if there is no location list or it is LLVM's, by the calling convention (calling_convention.h). 0, or
 * -EINVAL with the reason.
 */
int location_place(struct code_place *at, Dwarf_Die *variable, struct typed_place *p);

#endif
