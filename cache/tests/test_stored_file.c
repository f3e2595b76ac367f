// SPDX-License-Identifier: Apache-2.0
/* Which files are known by device, inode, size and times, and by which. */
#include "cache/stored_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define XFS 0x58465342

Test(stored_file, is_on_a_disk_of_this_machine)
{
	cr_assert(stored_file_is_on_disk(EXT4_SUPER_MAGIC));
	cr_assert(stored_file_is_on_disk(XFS));
	/* As fstatfs() has it, signed, on some architectures. */
	cr_assert(stored_file_is_on_disk((uint64_t)(int32_t)BTRFS_SUPER_MAGIC));
	cr_assert(!stored_file_is_on_disk(OVERLAYFS_SUPER_MAGIC));
	cr_assert(!stored_file_is_on_disk(FUSE_SUPER_MAGIC));
	cr_assert(!stored_file_is_on_disk(NFS_SUPER_MAGIC));
	cr_assert(!stored_file_is_on_disk(SQUASHFS_MAGIC));
	cr_assert(!stored_file_is_on_disk(0));
}

Test(stored_file, is_of_an_overlay_that_is_mounted)
{
	static const char text[] =
		"22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw\n"
		"23 27 0:22 / /a\\040-\\040overlay\\040b rw - tmpfs tmpfs rw\n"
		"24 27 0:23 / /merged rw,relatime - overlay none rw,lowerdir=/l,upperdir=/u\n"
		"25 27 259:1 / /home rw - ext4 /dev/nvme0n1p1 rw\n"
		"broken\n"
		"26 27 0:24 / /other rw,relatime shared:1 master:2 - overlay x ro\n";
	char path[] = "/tmp/stored_file.XXXXXX";
	_cleanup_close_ int fd = mkstemp(path);

	cr_assert(write(fd, text, sizeof(text) - 1) == sizeof(text) - 1);
	cr_expect(stored_file_is_mounted(path, makedev(0, 23), "overlay"));
	cr_expect(stored_file_is_mounted(path, makedev(0, 24), "overlay"));
	cr_expect(!stored_file_is_mounted(path, makedev(0, 21), "overlay"));
	cr_expect(!stored_file_is_mounted(path, makedev(0, 22), "overlay"));
	cr_expect(!stored_file_is_mounted(path, makedev(0, 25), "overlay"));
	cr_expect(!stored_file_is_mounted(path, makedev(259, 1), "overlay"));
	cr_expect(!stored_file_is_mounted(path, makedev(0, 24), "over"));
	cr_expect(stored_file_is_mounted(path, makedev(259, 1), NULL));
	cr_expect(!stored_file_is_mounted(path, makedev(259, 2), NULL));
	cr_assert_eq(unlink(path), 0);
	cr_expect(!stored_file_is_mounted(path, makedev(0, 23), "overlay"));
}

/* Who mounts it may name it as they like. */
Test(stored_file, has_a_server)
{
	static const char text[] =
		"22 27 0:21 / /a rw,relatime shared:5 - fuse.a,user_id=7 b,user_id=8 rw,user_id=1000,group_id=9\n"
		"23 27 0:22 / /b,user_id=7 rw - fuse  rw,user_id=1001,group_id=9\n"
		"24 27 0:23 / /c rw - overlay none rw,lowerdir=/l,user_id=7\n"
		"25 27 0:24 / /d rw - fuse\n";
	char path[] = "/tmp/stored_file.XXXXXX";
	_cleanup_close_ int fd = mkstemp(path);
	uid_t user = 0;

	cr_assert(write(fd, text, sizeof(text) - 1) == sizeof(text) - 1);
	cr_expect(stored_file_server(path, makedev(0, 21), &user) && user == 1000);
	cr_expect(stored_file_server(path, makedev(0, 22), &user) && user == 1001);
	cr_expect(!stored_file_server(path, makedev(0, 23), &user));
	cr_expect(!stored_file_server(path, makedev(0, 24), &user));
	cr_expect(!stored_file_server(path, makedev(0, 25), &user));
	cr_assert_eq(unlink(path), 0);
	cr_expect(!stored_file_server(path, makedev(0, 21), &user));
}

static char directory[] = "/tmp/stored_file.XXXXXX";

/* In a mount namespace of its own, with a file in it. */
static void mount_overlay(void)
{
	char path[64], options[128];

	cr_assert(unshare(CLONE_NEWNS) == 0 && mount("", "/", "", MS_REC | MS_PRIVATE, NULL) == 0);
	snprintf(path, sizeof(path), "%s/merged", directory);
	snprintf(options, sizeof(options), "lowerdir=%s/a:%s/b", directory, directory);
	cr_assert(mount("none", path, "overlay", MS_RDONLY, options) == 0, "%s", strerror(errno));
}

static bool is_foreign_to(const char *root)
{
	_cleanup_close_ int fd = -1;
	char path[96];
	bool is_foreign;

	snprintf(path, sizeof(path), "%s%s/merged/file", root, directory);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert(fd >= 0, "%s", path);
	is_foreign = stored_file_is_foreign(fd);
	cr_assert_eq(stored_file_is_local(fd), !is_foreign);
	cr_assert(!stored_file_has_own_inode(fd));
	return is_foreign;
}

static void make_layers(void)
{
	static const char *const layers[] = { "a", "b", "merged" };
	char path[64];

	cr_assert(mkdtemp(directory));
	for (size_t i = 0; i < sizeof(layers) / sizeof(*layers); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, layers[i]);
		cr_assert(mkdir(path, 0755) == 0);
	}
	snprintf(path, sizeof(path), "%s/a/file", directory);
	close(creat(path, 0644));
}

static void remove_layers(void)
{
	static const char *const files[] = { "a/file", "a", "b", "merged", "." };
	char path[64];

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, files[i]);
		(void)remove(path);
	}
	rmdir(directory);
}

/* Users, too, can mount one above what they serve, where this process does not see it. */
Test(stored_file, is_foreign_on_an_overlay_of_others)
{
	char root[32], ready;
	int ends[2];
	pid_t child;

	if (geteuid() != 0)
		cr_skip_test("only root mounts file systems");
	make_layers();
	cr_assert(pipe(ends) == 0);
	child = fork();
	if (child == 0) {
		close(ends[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		mount_overlay();
		cr_assert(write(ends[1], "x", 1) == 1);
		pause();
	}
	close(ends[1]);
	cr_assert(read(ends[0], &ready, 1) == 1);
	snprintf(root, sizeof(root), "/proc/%d/root", child);
	cr_expect(is_foreign_to(root));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	mount_overlay();
	cr_expect(!is_foreign_to(""));
	snprintf(root, sizeof(root), "%s/merged", directory);
	umount(root);
	remove_layers();
}

Test(stored_file, is_not_what_the_kernel_makes_up)
{
	_cleanup_close_ int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	struct stored_identity file;

	cr_assert_eq(stored_file_identify(fd, &file), -EPERM);
	cr_assert(!stored_file_is_foreign(fd));
	cr_assert_eq(stored_file_identify(-1, &file), -EBADF);
	cr_assert(stored_file_is_foreign(-1));
	cr_assert(!stored_file_is_local(fd));
	cr_assert(!stored_file_is_local(-1));
	cr_assert(!stored_file_has_own_inode(fd) && !stored_file_has_own_inode(-1));
}

Test(stored_file, has_its_inode_for_itself_in_memory)
{
	_cleanup_close_ int fd = memfd_create("own", MFD_CLOEXEC);

	cr_assert(fd >= 0 && stored_file_has_own_inode(fd));
}

/* In memory, so that it is the same on every machine. */
Test(stored_file, is_what_it_was_once_it_has_settled, .timeout = 20)
{
	_cleanup_close_ int fd = memfd_create("stored", MFD_CLOEXEC);
	struct stored_identity file;
	struct timespec now;
	struct stat st;

	cr_assert(write(fd, "12345", 5) == 5 && fstat(fd, &st) == 0);
	/* For two seconds a change may not show in its times. */
	while (true) {
		int err = stored_file_identify(fd, &file);

		clock_gettime(CLOCK_REALTIME, &now);
		if (now.tv_sec > st.st_ctim.tv_sec + 2)
			break;
		cr_assert_eq(err, -ESTALE);
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	}
	cr_assert_eq(stored_file_identify(fd, &file), 0);
	cr_assert_eq(file.file.device, st.st_dev);
	cr_assert(file.file.inode == st.st_ino && file.file.size == 5);
	cr_assert_eq(file.file.mtime_ns % 1000000000, (uint64_t)st.st_mtim.tv_nsec);
	cr_assert_eq(file.file.ctime_ns / 1000000000, (uint64_t)st.st_ctim.tv_sec);
}

/* "abc" in a new file system of its own, where this test has one mounted. */
static int file_in(const char *at, unsigned long flags, mode_t mode)
{
	char path[64];
	int fd;

	cr_assert(mount("none", at, "tmpfs", flags, NULL) == 0, "%s", strerror(errno));
	snprintf(path, sizeof(path), "%s/file", at);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, mode);
	cr_assert(fd >= 0 && fchmod(fd, mode) == 0 && write(fd, "abc", 3) == 3);
	return fd;
}

static struct stored_identity settled(int fd)
{
	struct stored_identity identity;
	int err;

	while ((err = stored_file_identify(fd, &identity)) == -ESTALE)
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	cr_assert_eq(err, 0);
	return identity;
}

/* Its device number is another one's later, but its times are the kernel's. */
Test(stored_file, has_its_inode_in_memory, .timeout = 60)
{
	struct stored_identity identity;
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (geteuid() != 0)
		cr_skip_test("only root mounts file systems");
	cr_assert(unshare(CLONE_NEWNS) == 0 && mount("", "/", "", MS_REC | MS_PRIVATE, NULL) == 0);
	fd = file_in("/mnt", MS_NOSUID, 0644);
	identity = settled(fd);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_expect_eq(identity.owner.inode, st.st_ino);
	cr_expect_eq(identity.owner.user, 0);
	cr_expect_eq(identity.owner.device, st.st_dev);
	cr_expect(identity.is_lasting);
	cr_expect(stored_file_is_same(fd, &identity.file));
	cr_assert_eq(pwrite(fd, "x", 1, 0), 1);
	cr_expect(!stored_file_is_same(fd, &identity.file));
}

/* Of a disk, as root has mounted it, and as users may have it mounted. */
Test(stored_file, has_an_owner_on_a_disk, .timeout = 60)
{
	char path[] = "/tmp/stored_file.XXXXXX", again[sizeof(path) + 8];
	_cleanup_close_ int fd = -1, through = -1;
	struct stored_identity identity;
	struct stat st;

	cr_assert(mkdtemp(path));
	snprintf(again, sizeof(again), "%s/file", path);
	fd = open(again, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	cr_assert(fd >= 0 && fstat(fd, &st) == 0);
	identity = (struct stored_identity){ 0 };
	if (geteuid() != 0 || major(st.st_dev) == 0) {
		unlink(again);
		rmdir(path);
		cr_skip_test("only root mounts file systems, and /tmp has no disk");
	}
	identity = settled(fd);
	cr_expect(identity.owner.inode == 0 && identity.owner.device == st.st_dev);
	cr_expect(identity.is_lasting);
	/* The group's bits of an access control list are its mask. */
	for (mode_t mode = 0602; mode <= 0620; mode += 016) {
		cr_assert_eq(fchmod(fd, mode), 0);
		cr_expect_eq(settled(fd).owner.inode, st.st_ino, "%o", mode);
	}
	cr_assert(fchmod(fd, 0755) == 0 && fchown(fd, 65534, 65534) == 0);
	cr_expect_eq(settled(fd).owner.inode, st.st_ino, "of who knows whom");
	cr_assert_eq(fchown(fd, 1000, 65534), 0);
	identity = settled(fd);
	cr_expect(identity.owner.inode == 0 && identity.owner.user == 1000);
	cr_assert(unshare(CLONE_NEWNS) == 0 && mount("", "/", "", MS_REC | MS_PRIVATE, NULL) == 0);
	cr_assert(mount(path, path, NULL, MS_BIND, NULL) == 0 &&
		  mount(NULL, path, NULL, MS_BIND | MS_REMOUNT | MS_NOSUID, NULL) == 0);
	through = open(again, O_RDONLY | O_CLOEXEC);
	identity = settled(through);
	cr_expect_eq(identity.owner.inode, st.st_ino);
	cr_expect(!identity.is_lasting);
	umount(path);
	unlink(again);
	rmdir(path);
}
