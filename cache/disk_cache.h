/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CACHE_DISK_CACHE_H
#define DP_CACHE_DISK_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/*
 * What was made of binaries and is kept from run to run, in a directory of the user's:
 * files of two kinds, which users of this name after the build id and inode of the
 * binary. It is a convenience: whatever is wrong with it, all is made as if it were not
 * there. What was not used for longest goes first.
 *
 * A file is taken only where the binary has the build id, inode, size and times that it
 * had, which costs no look at its contents. The build id alone would not do: anyone can
 * write one, and it stays when a file is changed. The time of the last change (ctime)
 * cannot be set at will. And it is taken only by the very program that has made it,
 * which knows itself by its own build id: a mended reader reads other things in the same
 * file.
 */

/* The endings of their names. What else is in the directory is left alone. */
#define DISK_CACHE_IMAGE ".image"
#define DISK_CACHE_LOCATIONS ".places"

/* Fits a build id, an inode, a version and an ending. */
#define DISK_CACHE_NAME_SIZE 128

/* A build id in hex, cut to 20 bytes and filled up with zeros. */
#define DISK_CACHE_ID_SIZE 48

/* Bytes of all files. */
#define DISK_CACHE_LIMIT (UINT64_C(512) << 20)

struct disk_cache {
	int fd; /* of the directory */
	char maker[DISK_CACHE_ID_SIZE];
	uint64_t limit;
	uint64_t budget; /* bytes that may be added before the directory is looked through */
};

/* What tells a binary's file from all others. */
struct disk_cache_source {
	uint64_t inode, size, mtime_ns, ctime_ns;
};

/*
 * Where a user's cache is: `/var/cache/dwarfprof` of user 0, whatever the
 * environment says, which sudo may have left as it was; of others below `xdg`,
 * $XDG_CACHE_HOME, or else below `home`, $HOME. Both count only if they are absolute
 * (XDG Base Directory Specification), NULL: not set. To be freed; NULL if
 * there is no place, or no memory.
 */
char *disk_cache_path(uid_t user, const char *xdg, const char *home);

/*
 * Open the cache in a directory, which is made, for its user alone, if it is
 * missing. Returns 0, -EPERM for a directory that others own or can write
 * to, -ENOTSUP if this program has no build id, or what the system says.
 */
int disk_cache_open(const char *path, uint64_t limit, struct disk_cache *ret);
void disk_cache_close(struct disk_cache *cache);

/* Does someone behind the file system say what numbers and times files have, and when they come? */
bool disk_cache_is_foreign(int fd);

/*
 * Describe a binary's file. -ESTALE: nothing is to be kept of it, as it was changed just
 * now, or lies in a file system of which others say what inodes and times files have.
 */
int disk_cache_source(int fd, struct disk_cache_source *ret);

/*
 * Open a file of the cache: a descriptor and its size. -EPERM if it is not the user's
 * own, -EFBIG if none so large is kept. Its bytes are to be copied before they are
 * checked: whoever may write to it could change them later.
 */
int disk_cache_open_file(const struct disk_cache *cache, const char *name, uint64_t *ret_size);

/* Read that many bytes; -EBADMSG if they are not there. */
int disk_cache_read(int fd, void *to, size_t size, uint64_t from);

/* It was of use now. */
void disk_cache_used(int fd);

/*
 * Keep a file, which gets its name when it is whole. It is not waited for that it
 * reaches the disk (fsync): after a power cut it may have its name and not all of its
 * bytes, so it should have a sum of them. -EFBIG if it takes more than may be added.
 */
int disk_cache_put(struct disk_cache *cache, const char *name, const struct iovec *parts, size_t n);

#endif
