/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_LOCATION_FILE_H
#define DP_SYMBOLS_LOCATION_FILE_H

#include "cache/disk_cache.h"
#include "symbols/location_cache.h"

/*
 * The locations of a binary's addresses as they are kept from run to run, for who reads the
 * same recording again, or profiles the same program: its debug information need not be
 * opened then. cache/kept_file.h has the file's format, docs/FORMAT.md draws its sections. Whoever
 * reads one believes nothing of it.
 *
 * `fd` and `build_id` are the binary's. The locations are those of `options`: a file that was
 * written with others is not taken.
 */

/* Changes whenever the layout does. */
#define LOCATION_FILE_VERSION 3

/*
 * Add what was kept to a location cache. Returns 0, -ENOENT: nothing was, -ESTALE: it is of
 * another file, or nothing is kept of it; -EBADMSG: it is damaged, and nothing was added;
 * or another negative errno.
 */
int location_file_read(const struct disk_cache *disk, const struct names_options *options,
		       const char *build_id, int fd, struct location_cache *locations);

/* Keep all that a location cache has. */
int location_file_write(struct disk_cache *disk, const struct names_options *options,
			const char *build_id, int fd, const struct location_cache *locations);

#endif
