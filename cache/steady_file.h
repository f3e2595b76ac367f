/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CACHE_STEADY_FILE_H
#define DP_CACHE_STEADY_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cache/mount_list.h"
#include "cache/read_limit.h"

/*
 * Which files may be believed about themselves. What is kept belongs to bytes, by their digest. But
 * bytes that are parsed, and hashed before or after, are the same ones only if nobody changes them
 * in between, and a digest from an earlier run may stand for a file only if a change would show.
 * Users who serve a file system (FUSE, or one below an overlay), bring a medium or mount in a
 * namespace of their own decide about bytes, owners and times of its files; and a write through a
 * mapping may not show in the times at all.
 *
 * So a file is steady if all of this holds: it is root's or the effective user's, and nobody else
 * can write to it; its file system is of a type that this machine stores itself, none that shows
 * other file systems' files (overlay); it is mounted in our own mount namespace, without nosuid and
 * nodev, which mounts by users have; and its last change is not too recent to show in its ctime.
 * Others are copied before they are parsed and hashed in each run.
 */

/* Equal as long as a steady file has the same bytes. */
struct file_identity {
	uint64_t device, inode, size, mtime_ns, ctime_ns;
	uint64_t fs_type; /* f_type of statfs() */
};

/*
 * 0; -EPERM: it is not steady; -ESTALE: it is not steady yet; or another negative errno. `mounts`
 * are those of our own mount namespace; NULL: they are read for this file alone.
 */
int steady_file_identify(int fd, struct mount_list *mounts, struct file_identity *ret);

/* Whether this machine stores such file systems itself. f_type of statfs(). */
bool steady_file_is_stored(uint64_t fs_type);

/*
 * Copies a file to memory (memfd_create()), where only this process can change it. Returns its
 * descriptor, -EFBIG if it has more than `max` bytes, an errno of read_limit_check(), or another
 * negative one.
 */
int steady_file_copy(int fd, uint64_t max, const struct read_limit *limit);

#endif
