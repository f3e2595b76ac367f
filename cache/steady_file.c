// SPDX-License-Identifier: Apache-2.0
#include "cache/steady_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Those that <linux/magic.h> does not have. */
#define BCACHEFS_MAGIC 0xca451a4e
#define XFS_MAGIC 0x58465342
#define ZFS_MAGIC 0x2fc12fc1

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

/* In seconds: a change within a file system's clock tick may not show in the ctime. */
#define SETTLE_TIME 2

/* Bytes to copy at a time, before looking whether to give up. */
#define COPY_STEP (256 << 10)

bool steady_file_is_stored(uint64_t fs_type)
{
	switch ((uint32_t)fs_type) {
	case BCACHEFS_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case EXT4_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case RAMFS_MAGIC:
	case TMPFS_MAGIC:
	case XFS_MAGIC:
	case ZFS_MAGIC:
		return true;
	default:
		return false;
	}
}

static bool is_ours(const struct statx *st)
{
	return S_ISREG(st->stx_mode) && (st->stx_uid == 0 || st->stx_uid == geteuid()) &&
	       (st->stx_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static uint64_t nanoseconds(const struct statx_timestamp *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

/* Without a list, the mounts are read for this one. */
static bool is_mounted(struct mount_list *mounts, uint64_t id)
{
	struct mount_list *own = mounts ? NULL : mount_list_new("/proc/self/mountinfo");
	bool is = (mounts || own) && mount_list_has(mounts ? mounts : own, id);

	mount_list_free(own);
	return is;
}

int steady_file_identify(int fd, struct mount_list *mounts, struct file_identity *ret)
{
	const unsigned int wanted = STATX_BASIC_STATS | STATX_MNT_ID;
	struct timespec now;
	struct statx st;
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return -errno;
	/* First, as others may take long to answer. */
	if (!steady_file_is_stored((uint64_t)fs.f_type))
		return -EPERM;
	if (statx(fd, "", AT_EMPTY_PATH, wanted, &st) < 0 ||
	    clock_gettime(CLOCK_REALTIME, &now) < 0)
		return -errno;
	if ((st.stx_mask & wanted) != wanted || !is_ours(&st) || !is_mounted(mounts, st.stx_mnt_id))
		return -EPERM;
	if (st.stx_ctime.tv_sec + SETTLE_TIME >= now.tv_sec)
		return -ESTALE;
	*ret = (struct file_identity){
		.device = makedev(st.stx_dev_major, st.stx_dev_minor),
		.inode = st.stx_ino,
		.size = st.stx_size,
		.mtime_ns = nanoseconds(&st.stx_mtime),
		.ctime_ns = nanoseconds(&st.stx_ctime),
		.fs_type = (uint32_t)fs.f_type,
	};
	return 0;
}

int steady_file_copy(int fd, uint64_t max, const struct read_limit *limit)
{
	_cleanup_close_ int copy = -1;
	struct rlimit allowed;
	off_t from = 0;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EPERM;
	/* Memory counts as a file: a write beyond RLIMIT_FSIZE sends a signal that ends the program. */
	if ((uint64_t)st.st_size > max || getrlimit(RLIMIT_FSIZE, &allowed) < 0 ||
	    (uint64_t)st.st_size > allowed.rlim_cur)
		return -EFBIG;
	copy = memfd_create("copy", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	if (copy < 0 && errno == EINVAL) /* before Linux 6.3 */
		copy = memfd_create("copy", MFD_CLOEXEC);
	if (copy < 0)
		return -errno;
	while (from < st.st_size) {
		off_t left = st.st_size - from;
		int err = read_limit_check(limit);
		ssize_t n;

		if (err < 0)
			return err;
		n = sendfile(copy, fd, &from, left < COPY_STEP ? (size_t)left : COPY_STEP);
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
	}
	return steal_fd(&copy);
}
