/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_LOADER_H
#define DP_ELF_LOADER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Libraries as users name them, and where the dynamic linker finds them (ld.so(8)). */

#define LIBRARY_PREFIX "lib:"

/* "c" of "lib:c"; NULL: it is not such a name. */
const char *library_name(const char *text);

/*
 * Whether a path is that of the library: libNAME.so, with a version after or, in old names, before ".so"; for "c",
 * also musl's dynamic linker, which is its C library.
 */
bool library_is_file(const char *path, const char *name);

/*
 * Finds the file that the dynamic linker would load for a program without a run path: by LD_LIBRARY_PATH, its cache,
 * and the default directories, but without their glibc-hwcaps subdirectories. False: there is none.
 */
bool loader_find(const char *name, char ret[PATH_MAX]);

/* The same by the bytes of a cache, for a CPU of that level (loader_level.h). */
bool loader_find_in_cache(const char *cache, size_t size, int level, const char *name,
			  char ret[PATH_MAX]);

#endif
