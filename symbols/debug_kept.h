/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_DEBUG_KEPT_H
#define DP_SYMBOLS_DEBUG_KEPT_H

#include <stdint.h>

/*
 * libdebuginfod keeps debug files on disk as BUILD-ID/debuginfo in one directory, however many these
 * are. Removes the least recently used of them, but not the one at `path`, until all have at most `limit`
 * bytes, also those that were received only in part. Other files in that directory are left alone.
 */
void debug_kept_limit(const char *path, uint64_t limit);

/* Makes the directory that libdebuginfod keeps them in, and the one above: it makes only one itself. */
void debug_kept_make(const char *directory);

#endif
