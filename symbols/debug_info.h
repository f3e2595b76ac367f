/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_DEBUG_INFO_H
#define DP_SYMBOLS_DEBUG_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/location.h"

/*
 * The debug information (DWARF) of one ELF file: its own, or that of a separate
 * debug file, with what is shared between files (dwz) or kept beside the objects
 * (split DWARF).
 */
struct debug_info;
struct dwfl_source;

/*
 * Read the debug information of a file (dwfl_file.h). Returns 0, -ENODATA if there is none, or another
 * negative errno: -ECANCELED if names are not wanted any more (names.h).
 */
int debug_info_new(const struct dwfl_source *source, struct debug_info **ret);
struct debug_info *debug_info_free(struct debug_info *info);

/* As debug_unit_find(), of the unit that the address is in. */
int debug_info_find(struct debug_info *info, uint64_t address, bool lines,
		    struct source_location *locations);

/* Were all other files found that it refers to, as far as was looked: split DWARF, dwz's? */
bool debug_info_is_whole(const struct debug_info *info);

/* Bytes of memory that it takes, about. It grows as it is used. */
size_t debug_info_memory(const struct debug_info *info);

#endif
