// SPDX-License-Identifier: Apache-2.0
#include "cache/stored_file.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>

#include "base/cleanup.h"

/* Those that <linux/magic.h> does not have. */
#define BCACHEFS_MAGIC 0xca451a4e
#define ZFS_MAGIC 0x2fc12fc1
#define EROFS_MAGIC 0xe0f5e1e2
#define JFS_MAGIC 0x3153464a

/* In seconds: a change within a file system's clock tick may not show in the ctime. */
#define SETTLE_TIME 2

bool stored_file_is_on_disk(uint64_t fs_type)
{
	switch ((uint32_t)fs_type) {
	case BCACHEFS_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case EXT4_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case XFS_SUPER_MAGIC:
	case ZFS_MAGIC:
		return true;
	default:
		return false;
	}
}

static bool is_word(const char *at, const char *word)
{
	size_t n = strlen(word);

	return strncmp(at, word, n) == 0 && at[n] == ' ';
}

/*
 * The type of the file system, and what follows, if the line is of one that is mounted as that device; else NULL.
 * proc_pid_mountinfo(5): mount, parent, device, ..., "-", type, source, options; spaces in names are escaped.
 */
static const char *type_of(const char *line, dev_t device)
{
	const char *end = strstr(line, " - ");
	unsigned int major, minor;

	return end && sscanf(line, "%*u %*u %u:%u", &major, &minor) == 2 &&
			       makedev(major, minor) == device ?
		       end + 3 :
		       NULL;
}

bool stored_file_is_mounted(const char *mountinfo_path, dev_t device, const char *type)
{
	_cleanup_fclose_ FILE *file = fopen(mountinfo_path, "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		const char *found = type_of(line, device);

		if (found && (!type || is_word(found, type)))
			return true;
	}
	return false;
}

/* Who mounts it chooses the source, which may be empty, and what follows "fuse." in the type. */
static bool read_server(const char *type, uid_t *ret)
{
	const char *source = strchr(type, ' ');
	const char *options = source ? strchr(source + 1, ' ') : NULL;
	const char *user = options ? strstr(options, ",user_id=") : NULL;

	return strncmp(type, "fuse", strlen("fuse")) == 0 && user &&
	       sscanf(user, ",user_id=%u", ret) == 1;
}

bool stored_file_server(const char *mountinfo_path, dev_t device, uid_t *ret)
{
	_cleanup_fclose_ FILE *file = fopen(mountinfo_path, "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		const char *type = type_of(line, device);

		if (type && read_server(type, ret))
			return true;
	}
	return false;
}

/*
 * One that a user has mounted in a namespace of their own reads what the same user serves. A container's
 * is mounted for the first process, if not for this one.
 */
static bool is_overlay_of_user(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ||
	       (!stored_file_is_mounted("/proc/self/mountinfo", st.st_dev, "overlay") &&
		!stored_file_is_mounted("/proc/1/mountinfo", st.st_dev, "overlay"));
}

bool stored_file_is_foreign(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return true;
	switch ((uint32_t)fs.f_type) {
	case FUSE_SUPER_MAGIC:
	case NFS_SUPER_MAGIC:
	case CIFS_SUPER_MAGIC:
	case SMB2_SUPER_MAGIC:
	case V9FS_MAGIC:
		return true;
	case OVERLAYFS_SUPER_MAGIC:
		return is_overlay_of_user(fd);
	default:
		return false;
	}
}

bool stored_file_is_local(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	switch ((uint32_t)fs.f_type) {
	case EROFS_MAGIC:
	case EXFAT_SUPER_MAGIC:
	case ISOFS_SUPER_MAGIC:
	case JFS_MAGIC:
	case MSDOS_SUPER_MAGIC:
	case NILFS_SUPER_MAGIC:
	case RAMFS_MAGIC:
	case REISERFS_SUPER_MAGIC:
	case SQUASHFS_MAGIC:
	case UDF_SUPER_MAGIC:
		return true;
	case OVERLAYFS_SUPER_MAGIC:
		return !is_overlay_of_user(fd);
	default:
		return stored_file_is_on_disk((uint64_t)fs.f_type);
	}
}

bool stored_file_has_own_inode(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	switch ((uint32_t)fs.f_type) {
	case EROFS_MAGIC:
	case EXT4_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case SQUASHFS_MAGIC:
	case TMPFS_MAGIC:
	case XFS_SUPER_MAGIC:
	case ZFS_MAGIC:
		return true;
	default:
		return false;
	}
}

static uint64_t nanoseconds(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

/* Only root mounts disks without. A tmpfs, which has no disk, begins empty. */
static bool is_disk_of_user(const struct statfs *fs)
{
	return (fs->f_flags & ST_NOSUID) != 0 && (uint32_t)fs->f_type != TMPFS_MAGIC;
}

bool stored_file_is_on_disk_of_user(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) < 0 || is_disk_of_user(&fs);
}

/* Users of another user namespace all look like this one (user_namespaces(7)). */
#define OVERFLOW_USER 65534

/* Device numbers without a disk are used again for other file systems. The group's bits count ACLs, too. */
static bool is_of_one_user(const struct statfs *fs, const struct stat *st)
{
	return major(st->st_dev) != 0 && !is_disk_of_user(fs) &&
	       (st->st_mode & (S_IWGRP | S_IWOTH)) == 0 && st->st_uid != OVERFLOW_USER;
}

int stored_file_identify(int fd, struct stored_identity *ret)
{
	struct timespec now;
	struct statfs fs;
	struct stat st;
	bool is_on_disk;

	if (fstatfs(fd, &fs) < 0)
		return -errno;
	is_on_disk = stored_file_is_on_disk((uint64_t)fs.f_type);
	/* Before anything else, as others may take long to answer. */
	if (!is_on_disk && (uint32_t)fs.f_type != OVERLAYFS_SUPER_MAGIC)
		return -EPERM;
	if (fstat(fd, &st) < 0 || clock_gettime(CLOCK_REALTIME, &now) < 0)
		return -errno;
	if (!is_on_disk && !stored_file_is_mounted("/proc/self/mountinfo", st.st_dev, "overlay"))
		return -EPERM;
	if (st.st_ctim.tv_sec + SETTLE_TIME >= now.tv_sec)
		return -ESTALE;
	ret->file = (struct stored_file){
		.device = is_on_disk ? st.st_dev : 0,
		.inode = st.st_ino,
		.size = (uint64_t)st.st_size,
		.mtime_ns = nanoseconds(&st.st_mtim),
		.ctime_ns = nanoseconds(&st.st_ctim),
	};
	ret->owner = (struct stored_owner){
		.device = ret->file.device,
		.user = st.st_uid,
		.inode = is_of_one_user(&fs, &st) ? 0 : st.st_ino,
	};
	ret->is_lasting = !is_on_disk || !is_disk_of_user(&fs);
	return 0;
}

bool stored_file_is_same(int fd, const struct stored_file *file)
{
	struct stored_identity now;

	return stored_file_identify(fd, &now) == 0 && memcmp(&now.file, file, sizeof(*file)) == 0;
}
