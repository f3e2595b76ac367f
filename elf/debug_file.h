/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_DEBUG_FILE_H
#define DP_ELF_DEBUG_FILE_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "cfi/entry.h"

/* Unwind information for debuggers: .debug_frame, in the file itself or in a separate one. */

/*
 * Returns the section .debug_frame, decompressed; size 0 if there is none that can be read. The
 * bytes live as long as elf does.
 */
void debug_frame_read(Elf *elf, struct cfi_section *ret);

/*
 * Finds the separate debug file of the file behind fd by its build id ("" if it has none) or its
 * .gnu_debuglink, in the places where GDB looks ("Debugging Information in Separate Files"). It
 * must have the same build id or the checksum from the link. Returns NULL if there is none; the
 * caller calls elf_end().
 */
Elf *debug_file_open(Elf *elf, int fd, const char *build_id);

/*
 * Returns the name in .gnu_debuglink, which lives as long as elf does, and its checksum; NULL if
 * there is none. The other two check whether a file has this checksum or build id.
 */
const char *debug_link_read(Elf *elf, uint32_t *ret_checksum);
bool debug_file_has_checksum(Elf *elf, uint32_t wanted);
bool debug_file_has_build_id(Elf *elf, const char *wanted);

/* Where distributions install them. */
#define DEBUG_ROOT "/usr/lib/debug"

#endif
