/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_DEBUG_CACHE_H
#define DP_SYMBOLS_DEBUG_CACHE_H

#include <stddef.h>
#include <stdint.h>

/*
 * libdebuginfod keeps debug files on disk as BUILD-ID/debuginfo in one directory, however many these
 * are. Removes the least recently used of them, but not the one at `path`, until all have at most `limit`
 * bytes, also those that were received only in part. Other files in that directory are left alone.
 */
void debug_cache_limit(const char *path, uint64_t limit);

/* Makes the directory that libdebuginfod keeps them in, and the one above. 0 or a negative errno. */
int debug_cache_make(const char *directory);

/* The size of a build id's file, of which there may be only a part yet. */
uint64_t debug_cache_size(const char *directory, const unsigned char *build_id, size_t size);

/*
 * An empty file says for some minutes that no server has one. libdebuginfod also makes it if its caller gives
 * a request up: this removes it.
 */
void debug_cache_forget_absent(const char *directory, const unsigned char *build_id, size_t size);

/* Removes those that are too old for libdebuginfod to trust. */
void debug_cache_forget_old(const char *directory);

/* Marks the file as used now: libdebuginfod gives files the server's times. */
void debug_cache_touch(int fd);

#endif
