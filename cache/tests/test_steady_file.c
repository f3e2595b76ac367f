// SPDX-License-Identifier: Apache-2.0
/*
 * Files that may be believed about themselves: not those of other owners, on file systems or mounts
 * that users decide about, or changed just now.
 */
#include "cache/steady_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define NOBODY 65534

Test(steady_file, is_on_a_file_system_that_the_machine_stores)
{
	static const uint64_t stored[] = { EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
					   TMPFS_MAGIC,      RAMFS_MAGIC,       0x58465342 };
	static const uint64_t others[] = {
		FUSE_SUPER_MAGIC,  NFS_SUPER_MAGIC,   OVERLAYFS_SUPER_MAGIC,
		V9FS_MAGIC,        SMB2_SUPER_MAGIC,  SQUASHFS_MAGIC,
		MSDOS_SUPER_MAGIC, ISOFS_SUPER_MAGIC, 0
	};

	for (size_t i = 0; i < sizeof(stored) / sizeof(*stored); i++)
		cr_expect(steady_file_is_stored(stored[i]), "%#lx", (long)stored[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		cr_expect(!steady_file_is_stored(others[i]), "%#lx", (long)others[i]);
}

Test(steady_file, is_written_to_by_its_owner_alone)
{
	char path[] = "/tmp/steady_file.XXXXXX";
	_cleanup_close_ int fd = mkstemp(path);
	struct file_identity identity, again;
	struct stat st;
	int err;

	unlink(path);
	err = steady_file_identify(fd, NULL, &identity);
	if (err == -EPERM) /* of what is below /tmp, such as overlay, and so it stays */
		return;
	cr_assert_eq(err, -ESTALE);
	while (steady_file_identify(fd, NULL, &identity) == -ESTALE)
		usleep(100000);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_expect(identity.inode == st.st_ino && identity.device == st.st_dev);
	cr_expect(identity.size == 0 && identity.fs_type != 0);
	cr_expect_eq(identity.ctime_ns % 1000000000, (uint64_t)st.st_ctim.tv_nsec);
	cr_expect_eq(identity.mtime_ns / 1000000000, (uint64_t)st.st_mtim.tv_sec);
	/* Whatever the time of the change. */
	cr_assert_eq(fchmod(fd, 0620), 0);
	cr_expect_eq(steady_file_identify(fd, NULL, &again), -EPERM);
	cr_assert_eq(fchmod(fd, 0602), 0);
	cr_expect_eq(steady_file_identify(fd, NULL, &again), -EPERM);
	cr_assert_eq(fchmod(fd, 0644), 0);
	cr_expect_eq(steady_file_identify(fd, NULL, &again), -ESTALE);
	if (geteuid() == 0) {
		cr_assert_eq(fchown(fd, NOBODY, NOBODY), 0);
		cr_expect_eq(steady_file_identify(fd, NULL, &again), -EPERM);
	}
}

/* Mounts a file system in namespaces of its own, with a file of this user, and waits. */
static void mount_and_wait(const char *directory, int told)
{
	bool is_root = geteuid() == 0;

	if (unshare(is_root ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("test", directory, "tmpfs", 0, NULL) < 0 || chdir(directory) < 0 ||
	    close(open("file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) < 0)
		_exit(1);
	if (write(told, "x", 1) == 1)
		pause();
	_exit(1);
}

/* What steady_file_identify() says of the file of a child's file system; 1: none can be mounted. */
static int identify_in_child(void)
{
	char directory[] = "/tmp/steady_file.XXXXXX", path[96], byte;
	struct file_identity identity;
	int told[2], fd, err = 1;
	pid_t child;

	cr_assert(mkdtemp(directory) && pipe2(told, O_CLOEXEC) == 0);
	child = fork();
	if (child == 0)
		mount_and_wait(directory, told[1]);
	close(told[1]);
	if (read(told[0], &byte, 1) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/cwd/file", child);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		err = fd < 0 ? 1 : steady_file_identify(fd, NULL, &identity);
		close(fd);
	}
	close(told[0]);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	rmdir(directory);
	return err;
}

/* Its user decides what is where, which is another's file in our namespace. */
Test(steady_file, is_in_our_mount_namespace)
{
	int err = identify_in_child();

	if (err == 1)
		cr_skip("nothing can be mounted here");
	cr_assert_eq(err, -EPERM);
}

Test(steady_file, is_copied)
{
	char path[] = "/tmp/steady_file.XXXXXX", bytes[8] = "";
	atomic_bool stop = false;
	struct read_limit limit = { .stop = &stop, .until_ns = UINT64_MAX };
	_cleanup_close_ int fd = mkstemp(path), copy = -1;
	_cleanup_close_ int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	unlink(path);
	cr_assert_eq(write(fd, "abcdef", 6), 6);
	copy = steady_file_copy(fd, 6, &limit);
	cr_assert(copy >= 0);
	cr_assert_eq(pwrite(fd, "x", 1, 0), 1);
	cr_assert_eq(pread(copy, bytes, sizeof(bytes), 0), 6);
	cr_expect_str_eq(bytes, "abcdef");
	cr_expect_eq(steady_file_copy(fd, 5, NULL), -EFBIG);
	limit.until_ns = read_limit_now_ns();
	cr_expect_eq(steady_file_copy(fd, 6, &limit), -ETIMEDOUT);
	stop = true;
	cr_expect_eq(steady_file_copy(fd, 6, &limit), -ECANCELED);
	cr_expect_eq(steady_file_copy(directory, 1 << 20, NULL), -EPERM);
	/* Where a longer file would end the program. */
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 5, 5 }), 0);
	cr_expect_eq(steady_file_copy(fd, 6, NULL), -EFBIG);
}
