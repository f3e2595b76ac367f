/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_DEBUG_UNIT_H
#define DP_SYMBOLS_DEBUG_UNIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/location.h"
#include "symbols/range_index.h"

struct names;

/*
 * The functions of one compilation unit of DWARF, and what was inlined into them.
 * libdw reads the entries (DIEs); which of them an address is in is found by
 * indexes of their ranges, made when they are first needed: of the unit's
 * functions, and of the inlined calls of each function that is asked for.
 */
struct debug_unit {
	const struct names *names;
	Dwarf_Die die;   /* of the unit, or the skeleton of one in a .dwo file */
	Dwarf_Die inner; /* the unit itself */
	struct debug_function *functions;
	size_t n_functions, functions_size;
	struct range_index index; /* of functions */
	uint64_t size;            /* in bytes, from its own entry on */
	uint64_t budget;          /* bytes that may still be walked over */
	bool is_c;
	bool has_ranges; /* the caller's: it says what code it has */
	bool read;       /* the functions at the top are in the index */
	bool read_deep;  /* all are */
	bool has_lines;  /* libdw has read the table of lines */
	bool lacks_file; /* it is a skeleton, and its .dwo file was not found */
	size_t memory;   /* what all this takes, about; libdw's part is an estimate */
};

/* `die` is the unit's entry; `names`: whose look-ups are given up, when that is told (names.h). */
void debug_unit_init(struct debug_unit *unit, const Dwarf_Die *die, const struct names *names);
void debug_unit_done(struct debug_unit *unit);

/*
 * The locations of an address, the innermost first, in `locations`, which has room for
 * LOCATION_MAX. The functions' names are as the linker has them, and with the files'
 * live as long as libdw's data. Without `lines`, files and lines are left out.
 * Returns how many: 0 if the address is in no function of the unit, and no line of
 * its source; or -ENOMEM, -ECANCELED (names.h).
 */
int debug_unit_find(struct debug_unit *unit, uint64_t address, bool lines,
		    struct source_location *locations);

/*
 * Add the ranges of an entry to an index as `id`. Entries may share them: `budget` is the
 * bytes of ranges that may still be read, here and in other calls. Returns 0, -ENOMEM, -E2BIG.
 * What is at address 0 is code that the linker threw away.
 */
int debug_ranges_add(struct range_index *index, Dwarf_Die *die, uint32_t id, uint64_t *budget);

#endif
