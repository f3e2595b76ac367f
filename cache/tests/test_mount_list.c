// SPDX-License-Identifier: Apache-2.0
/* Mounts that only the owner of a mount namespace can have made, as they come and go. */
#include "cache/mount_list.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

Test(mount_list, has_mounts_of_the_owner)
{
	char path[] = "/tmp/mountinfo.XXXXXX";
	struct mount_list *list;
	int fd = mkstemp(path);

	dprintf(fd,
		"230 27 0:31 / /b rw,nodev master:1 - tmpfs t rw,size=4k\n"
		"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
		"28 27 8:17 / /media/u/my\\040stick rw,nosuid,nodev,relatime - ext4 /dev/sdb1 rw\n"
		"29 27 0:30 / /a ro,nosuid shared:7 - tmpfs t rw\n"
		"31 27 0:32 / /c rw,nodevices shared:1 - tmpfs nodev rw,nosuid\n"
		"26 27 0:32 / /d rw - tmpfs d rw\n"
		"damaged\n32\n");
	close(fd);
	list = mount_list_new(path);
	cr_assert(list);
	cr_expect(mount_list_has(list, 26));
	cr_expect(mount_list_has(list, 27));
	cr_expect(!mount_list_has(list, 28));
	cr_expect(!mount_list_has(list, 29));
	cr_expect(!mount_list_has(list, 230));
	cr_expect(mount_list_has(list, 31), "options of the mount count, and whole words");
	cr_expect(!mount_list_has(list, 30), "of another namespace");
	cr_expect(!mount_list_has(list, 32));
	mount_list_free(list);
	unlink(path);
	cr_expect_null(mount_list_new(path));
}

static uint64_t mount_of(const char *path)
{
	struct statx st;

	return statx(AT_FDCWD, path, 0, STATX_MNT_ID, &st) == 0 ? st.stx_mnt_id : 0;
}

/* Mounts, and unmounts, what a list has read before. Returns what is wrong. */
static const char *mount_and_look(const char *directory)
{
	struct mount_list *list;
	uint64_t id;

	if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return "skip";
	list = mount_list_new("/proc/self/mountinfo");
	if (!list || mount_list_has(list, UINT64_MAX))
		return "has what is not there";
	if (mount("test", directory, "tmpfs", 0, NULL) < 0)
		return "skip";
	id = mount_of(directory);
	if (id == 0 || !mount_list_has(list, id) || !mount_list_has(list, id))
		return "does not have what was mounted";
	if (mount(NULL, directory, NULL, MS_REMOUNT | MS_BIND | MS_NOSUID, NULL) < 0 ||
	    mount_list_has(list, id))
		return "has what is nosuid";
	if (umount2(directory, 0) < 0 || mount_list_has(list, id))
		return "has what is gone";
	mount_list_free(list);
	return NULL;
}

Test(mount_list, has_those_of_now)
{
	char directory[] = "/tmp/mount_list.XXXXXX", said[64] = "";
	int told[2];
	pid_t child;

	cr_assert(mkdtemp(directory) && pipe2(told, O_CLOEXEC) == 0);
	child = fork();
	if (child == 0) {
		const char *wrong = mount_and_look(directory);

		_exit(wrong ? dprintf(told[1], "%s", wrong) < 0 : 0);
	}
	close(told[1]);
	cr_assert(read(told[0], said, sizeof(said) - 1) >= 0);
	close(told[0]);
	waitpid(child, NULL, 0);
	rmdir(directory);
	if (said[0] == 's')
		cr_skip("nothing can be mounted here");
	cr_assert_str_empty(said);
}
