/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_DEBUG_FRAME_H
#define DP_ELF_DEBUG_FRAME_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "cfi/entry.h"
#include "elf/debug_search.h"

/* Unwind information for debuggers: .debug_frame, in the file itself or in a separate one. */

/*
 * Returns the section .debug_frame, decompressed; size 0 if there is none that can be read. The
 * bytes live as long as elf does.
 */
void debug_frame_read(Elf *elf, struct cfi_section *ret);

/*
 * Opens the separate debug file of the file behind fd (debug_search.h). Returns NULL if there is
 * none; the caller calls elf_end().
 */
Elf *debug_file_open(Elf *file, int fd, const char *build_id);

/*
 * Whether a file is the wanted one: by its build id, or by its checksum if one of the two has no
 * build id.
 */
bool debug_file_belongs(Elf *elf, const struct debug_wanted *wanted);

/*
 * Returns the name in .gnu_debuglink, which lives as long as elf does, and its checksum; NULL if
 * there is none.
 */
const char *debug_link_read(Elf *elf, uint32_t *ret_checksum);

#endif
