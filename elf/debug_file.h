/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_DEBUG_FILE_H
#define DP_ELF_DEBUG_FILE_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "cfi/entry.h"

/* Unwind information for debuggers: .debug_frame, in the file itself or in a separate one. */

/*
 * The section .debug_frame, unpacked if it is compressed; size 0 if there is
 * none, or none that can be read. The bytes live as long as elf does.
 */
void debug_frame_read(Elf *elf, struct cfi_section *ret);

/*
 * Find the file of debug information that belongs to the file behind fd:
 * by its build id ("" if it has none) or its .gnu_debuglink, where GDB looks, too
 * ("Debugging Information in Separate Files"). It must have the same build id,
 * or the checksum that the link tells. NULL if there is none; the caller ends it.
 */
Elf *debug_file_open(Elf *elf, int fd, const char *build_id);

/*
 * What ties the two together: the name in .gnu_debuglink, which lives as long as elf does, and its
 * checksum, or NULL; and whether a file has that checksum, or a build id.
 */
const char *debug_link_read(Elf *elf, uint32_t *ret_checksum);
bool debug_file_has_checksum(Elf *elf, uint32_t wanted);
bool debug_file_has_build_id(Elf *elf, const char *wanted);

/* Where distributions put them. */
#define DEBUG_ROOT "/usr/lib/debug"

#endif
