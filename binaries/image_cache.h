/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_IMAGE_CACHE_H
#define DP_BINARIES_IMAGE_CACHE_H

#include "cache/cached_file.h"
#include "elf/elf_facts.h"
#include "symbols/names.h"
#include "tables/image.h"

/*
 * Images kept on disk from earlier runs (cache/disk_cache.h), each in a file of its own
 * (cache/cached_file.h). If one is damaged or cannot be read, the image is built as if it did not exist;
 * only `-v` reports it.
 */

/* Keeps names in the same cache (names_set_cache()). NULL: nothing is kept. */
void image_cache_keep_names(const struct disk_cache *cache, struct names *names);

/* Opens the cache of the effective user. Returns `ret`, or NULL if there is no cache to use. */
struct disk_cache *image_cache_open_default(struct disk_cache *ret);

/* Makes the image. 0 or a negative errno. */
typedef int (*image_make_fn)(void *arg, struct image *ret);

/*
 * Returns the image of a file with this origin (with fd -1: in memory only): from the cache or else
 * from `make`, which it then keeps. It does not keep small images, which are built as fast as they are
 * read, nor those of files that have just changed, that have a separate debug file, or that
 * cached_key_init() refuses. `cache` may be NULL. Returns 1 if the image is from the cache, and then knows
 * only the number of rows of its figures; otherwise as `make`.
 */
int image_cache_get(struct disk_cache *cache, const struct elf_origin *origin,
		    const struct cached_source *source, image_make_fn make, void *arg,
		    struct image *ret);

#endif
