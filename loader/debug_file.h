/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOADER_DEBUG_FILE_H
#define DP_LOADER_DEBUG_FILE_H

#include <libelf.h>

#include "entry.h"

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

#endif
