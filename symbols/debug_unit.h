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
 * The functions of one DWARF compilation unit and the calls inlined into them. libdw reads the
 * entries (DIEs). Indexes of their ranges find the entries that contain an address. They are built
 * on first use: one of the unit's functions, and one of the inlined calls of each function that is
 * looked up.
 */
struct debug_unit {
	const struct names *names;
	Dwarf_Die die;   /* of the unit, or of the skeleton for one in a .dwo file */
	Dwarf_Die inner; /* the unit itself */
	struct debug_function *functions;
	size_t n_functions, functions_size;
	struct range_index index; /* of functions */
	uint64_t size;            /* in bytes, starting with its own entry */
	uint64_t budget;          /* number of bytes that may still be visited */
	bool is_c;
	bool has_ranges; /* for the caller: it has ranges of its own */
	bool read;       /* the index has the top-level functions */
	bool read_deep;  /* the index has all functions */
	bool has_lines;  /* libdw has read the line table */
	bool lacks_file; /* it is a skeleton whose .dwo file was not found */
	bool no_files;   /* libdw may not be asked for files and lines (debug_text.h) */
	size_t memory;   /* approximate memory use; libdw's part is an estimate */
};

/* `die` is the unit's entry. Look-ups end at names_disable(names). */
void debug_unit_init(struct debug_unit *unit, const Dwarf_Die *die, const struct names *names);
void debug_unit_done(struct debug_unit *unit);

/*
 * Writes the locations of an address, innermost first, to `locations`, which has room for
 * LOCATION_MAX. Function names are the linker's; they and the file names live as long as libdw's
 * data. Without `lines`, files and lines are left out. Returns the number of locations, 0 if the
 * address is in no function and no line of the unit, or -ENOMEM or -ECANCELED (names.h).
 */
int debug_unit_find(struct debug_unit *unit, uint64_t address, bool lines,
		    struct source_location *locations);

/*
 * Adds the ranges of an entry to an index as `id`. Entries may share ranges, so `budget` limits the
 * bytes of ranges read by this and other calls. Ranges at address 0 are skipped: the linker has
 * discarded that code. Returns 0, -ENOMEM or -E2BIG.
 */
int debug_ranges_add(struct range_index *index, Dwarf_Die *die, uint32_t id, uint64_t *budget);

#endif
