/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_FILE_STAT_H
#define DP_BASE_FILE_STAT_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/*
 * As fstat(), but never waits for a file server: returns what it last told the kernel (AT_STATX_DONT_SYNC). Sets
 * only device, inode, type, owner, size, blocks and times. 0 or a negative errno.
 */
static inline int file_stat(int fd, struct stat *ret)
{
	struct statx st;

	memset(ret, 0, sizeof(*ret));
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st) < 0)
		return -errno;
	ret->st_dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	ret->st_ino = st.stx_ino;
	ret->st_mode = st.stx_mode;
	ret->st_nlink = st.stx_nlink;
	ret->st_uid = st.stx_uid;
	ret->st_size = (off_t)st.stx_size;
	ret->st_blocks = (blkcnt_t)st.stx_blocks;
	ret->st_mtim = (struct timespec){ st.stx_mtime.tv_sec, st.stx_mtime.tv_nsec };
	ret->st_ctim = (struct timespec){ st.stx_ctime.tv_sec, st.stx_ctime.tv_nsec };
	return 0;
}

/* The device of its file system, likewise; 0: it is not known. */
static inline dev_t file_device(int fd)
{
	struct stat st;

	return file_stat(fd, &st) == 0 ? st.st_dev : 0;
}

/* Are both the same time of a file? */
static inline bool file_time_is_same(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

#endif
