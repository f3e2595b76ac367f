/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_PROCESS_DEBUG_FILE_H
#define DP_ELF_PROCESS_DEBUG_FILE_H

#include <sys/types.h>

#include "elf/elf_file.h"

/*
 * Find the file of debug information for a file as a process sees it, for names: below the
 * process's own root, as containers have one, whose links do not lead out of it. `path` is the
 * file's in there. Returns a descriptor, which is the caller's, or a negative errno. If the
 * process's root and mounts are this one's, libdwfl will look there itself: -ENOENT.
 */
int process_debug_file_open(pid_t pid, const char *path, const struct elf_file *file);

#endif
