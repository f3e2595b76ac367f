/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_PROCESS_DEBUG_FILE_H
#define DP_ELF_PROCESS_DEBUG_FILE_H

#include <sys/types.h>

#include "elf/elf_file.h"

/*
 * Finds the separate debug file of a file for its names, as the process sees it: below the
 * process's own root (a container's, for example), which links cannot leave. `path` is the file's
 * path there. Returns a descriptor, which the caller closes, or a negative errno. If the process
 * has the same root and mounts as this one, libdwfl will look there itself: -ENOENT.
 */
int process_debug_file_open(pid_t pid, const char *path, const struct elf_file *file);

#endif
