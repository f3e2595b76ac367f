/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_DEBUG_LIBRARY_H
#define DP_SYMBOLS_DEBUG_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * libdebuginfod, which asks the servers in the environment variable DEBUGINFOD_URLS and caches files on
 * disk. It is loaded once per process, at the first use, and stays loaded.
 */

/* Build ids of so many bytes and more are refused. */
#define DEBUG_LIBRARY_ID_SIZE 64

/* Why no server can be asked; NULL: one can. */
const char *debug_library_error(void);

/*
 * Bounds the time of each later request, in whole seconds, if there are servers and DEBUGINFOD_MAXTIME is not set. Call
 * it before threads are started, because it sets an environment variable. 0 or -ENOMEM.
 */
int debug_library_bound(uint64_t time_ns);

/* Takes that from the environment again, for a child that becomes another program. */
void debug_library_unbind(void);

/*
 * Finds the debug file with a build id. Calls `goes_on` at least once a second (since 0.192, once a server
 * sends) with the number of bytes received so far, and gives up when that is false. Returns a descriptor,
 * and the file's path for the caller to free unless ret_path is NULL; -ENOENT: no server has it; or
 * another negative errno.
 */
int debug_library_find(const unsigned char *build_id, size_t size,
		       bool (*goes_on)(void *arg, long done), void *arg, char **ret_path);

#endif
