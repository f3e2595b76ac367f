/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_IMAGE_CACHE_H
#define DP_BINARIES_IMAGE_CACHE_H

#include "cache/disk_cache.h"
#include "elf/elf_file.h"
#include "symbols/names.h"
#include "tables/image.h"

/*
 * The images that were made before (cache/disk_cache.h): each in a file of its own
 * (cache/kept_file.h), named after the build id and inode of the binary and the version of the
 * layout. Whatever is wrong with them, images are made as if they were not there, and
 * only `-v` tells.
 */

/*
 * Keep names where images are kept (names_set_cache()). With `cache` NULL nothing is kept.
 */
void image_cache_keep_names(const struct disk_cache *cache, struct names *names);

/* Open the cache of the effective user. Returns `ret`; or NULL, and all is made anew. */
struct disk_cache *image_cache_open_default(struct disk_cache *ret);

/*
 * The image of a file, which is open at fd (-1: in memory only): from the
 * cache, if it is there; else image_build() makes it, and it is kept for the
 * next time. Small ones are made as fast as they are read, and not kept, nor
 * those of files without a build id, of files that were changed just now, or
 * made of a separate file. `cache` NULL: there is none. Returns 1 if it is
 * from the cache, of whose figures then only the number of rows is known; else as
 * image_build().
 */
int image_cache_get(struct disk_cache *cache, const struct elf_file *file, int fd,
		    struct image *ret);

#endif
