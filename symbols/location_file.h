/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_LOCATION_FILE_H
#define DP_SYMBOLS_LOCATION_FILE_H

#include "cache/disk_cache.h"
#include "symbols/location_cache.h"
#include "symbols/name_files.h"

/*
 * The locations of a binary's addresses, kept on disk between runs. Reading the same recording
 * again, or profiling the same program, then does not need its debug information. cache/kept_file.h
 * defines the file's format, docs/FORMAT.md shows its sections. A file is untrusted input.
 *
 * The locations belong to the binary and its separate debug files, which the file has with their
 * digests and paths. Where these are searched for depends on the binary's path, so that has to be
 * the same, too. A file written with other `options` is not used.
 */

/* Increment with each change of the layout. */
#define LOCATION_FILE_VERSION 5

/* The binary. */
struct location_place {
	const char *path, *build_id;
	int fd;
};

/*
 * Adds the kept locations to a cache, and the files that they are made of to `files`. Returns 0,
 * -ENOENT: there are none, -ESTALE: they are of another file, or none are kept for this one, or
 * *files->stop is true; -EBADMSG: the file is damaged and nothing was added; or another negative
 * errno.
 */
int location_file_read(struct disk_cache *disk, const struct names_options *options,
		       const struct location_place *place, struct name_files *files,
		       struct location_cache *locations);

/* Writes all locations of a cache, which are made of `files`, after name_files_hash(). */
int location_file_write(struct disk_cache *disk, const struct names_options *options,
			const struct location_place *place, const struct name_files *files,
			const struct location_cache *locations);

#endif
