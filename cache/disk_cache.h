/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CACHE_DISK_CACHE_H
#define DP_CACHE_DISK_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/*
 * A cache, in a directory of the user, of what was made from binaries: files of a few kinds, named by what they were
 * made from (cached_file.h). It is only an optimisation: on any error, everything is made as if it did not exist. The
 * least recently used files are removed first.
 *
 * A file is used only for a binary of the same bytes, whatever build id, inode and times it has, and of
 * the same owner (stored_file.h). And it is used only by the program that has made it, identified by its
 * own build id: a corrected reader may get other results from the same binary.
 */

/* The suffixes of their names. Other files in the directory are left alone. */
#define DISK_CACHE_IMAGE ".table"
#define DISK_CACHE_LOCATIONS ".names"
#define DISK_CACHE_DIGEST ".sha256"

/* Enough for half a digest, an owner, a version and a suffix. */
#define DISK_CACHE_NAME_SIZE 128

/* Of the program: a build id in hex, cut to 20 bytes and padded with zeros. */
#define DISK_CACHE_ID_SIZE 48

/* Total size of all files, in bytes. A file may have a sixteenth of it. */
#define DISK_CACHE_LIMIT (UINT64_C(512) << 20)

struct disk_cache {
	int fd; /* of the directory */
	char maker[DISK_CACHE_ID_SIZE];
	uint64_t limit;
	uint64_t budget; /* bytes to add until the directory is scanned */
};

/*
 * The directory of a user's cache: for user 0 `/var/cache/dwarfprof`, whatever the environment,
 * which sudo may have kept; for others below `xdg`, $XDG_CACHE_HOME, else below `home`, $HOME. Both
 * count only if absolute (XDG Base Directory Specification); NULL: not set. The caller frees the
 * result; NULL: no place, or no memory.
 */
char *disk_cache_path(uid_t user, const char *xdg, const char *home);

/*
 * Opens the cache in a directory, which is created with access for its user only if it is missing.
 * Returns 0, -EPERM for a directory that others own or can write to, -ENOTSUP if this program has
 * no build id, or a system error.
 */
int disk_cache_open(const char *path, uint64_t limit, struct disk_cache *ret);
void disk_cache_close(struct disk_cache *cache);

/*
 * Opens a file of the cache. Returns a descriptor and its size; -EPERM if it is not the user's own,
 * -EFBIG if it is too large. Copy its bytes before checking them: whoever may write to it could
 * change them later.
 */
int disk_cache_open_file(const struct disk_cache *cache, const char *name, uint64_t *ret_size);

/* Reads that many bytes; -EBADMSG if the file is shorter. */
int disk_cache_read(int fd, void *to, size_t size, uint64_t from);

/* Marks a file as used now. */
void disk_cache_used(int fd);

/*
 * Stores a file, which gets its name when it is complete. It does not wait for the disk (fsync):
 * after a power failure a file may be incomplete, so it should have a checksum. -EFBIG if it is too
 * large.
 */
int disk_cache_put(struct disk_cache *cache, const char *name, const struct iovec *parts, size_t n);

#endif
