/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_DEBUG_INFO_H
#define DP_SYMBOLS_DEBUG_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/location.h"

/*
 * The debug information (DWARF) of one ELF file, from the file itself or its separate debug file.
 * Includes parts shared between files (dwz) or kept next to the object files (split DWARF).
 */
struct debug_info;
struct dwfl_source;

/*
 * Reads the debug information of a file (dwfl_file.h). Returns 0, -ENODATA if there is none, or
 * another negative errno; -ECANCELED after names_disable().
 */
int debug_info_new(const struct dwfl_source *source, struct debug_info **ret);
struct debug_info *debug_info_free(struct debug_info *info);

/* Like debug_unit_find(), for the unit that contains the address. */
int debug_info_find(struct debug_info *info, uint64_t address, bool lines,
		    struct source_location *locations);

/*
 * Whether all other files that it refers to (split DWARF, dwz) were found, of those needed so far.
 */
bool debug_info_is_whole(const struct debug_info *info);

/* Approximate memory use in bytes. It grows with use. */
size_t debug_info_memory(const struct debug_info *info);

#endif
