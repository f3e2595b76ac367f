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
 * Is it a file of the library: libNAME.so, with a version behind it or, as old ones have it, before; of
 * "c", also musl's, which is its dynamic linker?
 */
bool library_is_file(const char *path, const char *name);

/*
 * The file that the dynamic linker would take for a program that says no more than the library's name, by
 * LD_LIBRARY_PATH, its cache, and the usual directories; in directories, what is there for some CPUs only
 * (glibc-hwcaps) is not looked for. False: there is none.
 */
bool loader_find(const char *name, char ret[PATH_MAX]);

/* The same by the bytes of a cache, for a CPU of that level (loader_level.h). */
bool loader_find_in_cache(const char *cache, size_t size, int level, const char *name,
			  char ret[PATH_MAX]);

#endif
