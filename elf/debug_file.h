/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_DEBUG_FILE_H
#define DP_ELF_DEBUG_FILE_H

#include <libelf.h>
#include <sys/types.h>

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
 * The same for a file as a process sees it, for names: below the process's own root, as
 * containers have one, whose links do not lead out of it. `path` is the file's in there.
 * Returns a descriptor, or a negative errno. If the process's root and mounts are this
 * one's, libdwfl will look there itself: -ENOENT.
 */
int debug_file_open_for(pid_t pid, const char *path, Elf *elf, const char *build_id);

#endif
