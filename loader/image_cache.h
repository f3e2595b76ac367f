/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOADER_IMAGE_CACHE_H
#define DP_LOADER_IMAGE_CACHE_H

#include <stdint.h>
#include <sys/types.h>

#include "elf_file.h"
#include "image.h"

/*
 * The images that were made before, in a directory of the user's: each in a
 * file of its own (image_file.h), named after the build id and inode of the
 * binary and the version of the layout. It is a convenience: whatever is wrong
 * with it, images are made as if it were not there, and only `-v` tells.
 *
 * An image is taken only where the binary has the build id, inode, size and
 * times that it had, which costs no look at its contents. The build id alone
 * would not do: anyone can write one, and it stays when a file is changed. The
 * time of the last change (ctime) cannot be set at will. And it is taken only
 * by the very program that has made it, which knows itself by its own build
 * id: a mended reader makes other rows of the same file.
 */
struct image_cache {
	int fd; /* of the directory */
	char maker[ELF_BUILD_ID_SIZE];
	uint64_t limit;
	uint64_t budget; /* bytes that may be added before the directory is looked through */
};

/* Bytes of all files. */
#define IMAGE_CACHE_LIMIT (UINT64_C(512) << 20)

/*
 * Where a user's cache is: `/var/cache/dwarfprof` of user 0, whatever the
 * environment says, which sudo may have left as it was; of others below `xdg`,
 * $XDG_CACHE_HOME, or else below `home`, $HOME. Both count only if they are absolute
 * (XDG Base Directory Specification), NULL: not set. To be freed; NULL if
 * there is no place, or no memory.
 */
char *image_cache_path(uid_t user, const char *xdg, const char *home);

/*
 * Open the cache in a directory, which is made, for its user alone, if it is
 * missing. Returns 0, -EPERM for a directory that others own or can write
 * to, -ENOTSUP if this program has no build id, or what the system says.
 */
int image_cache_open(const char *path, uint64_t limit, struct image_cache *ret);
void image_cache_close(struct image_cache *cache);

/* Open that of the effective user. Returns `ret`; or NULL, and tables are made anew. */
struct image_cache *image_cache_open_default(struct image_cache *ret);

/*
 * The image of a file, which is open at fd (-1: in memory only): from the
 * cache, if it is there; else image_build() makes it, and it is kept for the
 * next time. Small ones are made as fast as they are read, and not kept, nor
 * those of files without a build id, of files that were changed just now, or
 * made of a separate file. `cache` NULL: there is none. Returns 1 if it is
 * from the cache, of whose figures then only the number of rows is known; else as
 * image_build().
 */
int image_cache_get(struct image_cache *cache, const struct elf_file *file, int fd,
		    struct image *ret);

#endif
