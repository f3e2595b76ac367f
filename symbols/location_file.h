/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_LOCATION_FILE_H
#define DP_SYMBOLS_LOCATION_FILE_H

#include "cache/cached_file.h"
#include "symbols/location_cache.h"

/*
 * The locations of a binary's addresses, kept on disk between runs. Reading the same recording
 * again, or profiling the same program, then does not need its debug information. cache/cached_file.h
 * defines the file's format, location_list.h its sections. A file is untrusted input.
 *
 * A file of another binary than `source`, or written with other `options`, is not used.
 */

/* Increment with each change of the layout. */
#define LOCATION_FILE_VERSION 3

/*
 * Adds the kept locations to a cache. Returns 0, -ENOENT: there are none, -ESTALE: they are of
 * another file, or none are kept for this one; -EBADMSG: the file is damaged and nothing was added;
 * or another negative errno.
 */
int location_file_read(struct disk_cache *disk, const struct names_options *options,
		       const struct cached_source *source, struct location_cache *locations);

/* Writes all locations of a cache. */
int location_file_write(struct disk_cache *disk, const struct names_options *options,
			const struct cached_source *source, const struct location_cache *locations);

#endif
