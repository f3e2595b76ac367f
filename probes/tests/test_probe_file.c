// SPDX-License-Identifier: Apache-2.0
/* Files that the kernel may read when a probe is set. */
#include "probes/probe_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/finders.h"

static uid_t asked_for;

int __real_finders_open(struct finders *finders, uid_t user, int reference, struct found_file *ret);
int __wrap_finders_open(struct finders *finders, uid_t user, int reference, struct found_file *ret);

int __wrap_finders_open(struct finders *finders, uid_t user, int reference, struct found_file *ret)
{
	asked_for = user;
	return __real_finders_open(finders, user, reference, ret);
}

Test(probe_file, is_of_this_machine)
{
	_cleanup_close_ int fd = probe_file_open(NULL, "/bin/sh");
	struct stat opened, own;

	cr_assert(fd >= 0);
	cr_assert(fstat(fd, &opened) == 0 && stat("/bin/sh", &own) == 0);
	cr_expect_eq(opened.st_ino, own.st_ino);
	cr_expect_eq(opened.st_dev, own.st_dev);
}

Test(probe_file, is_not_what_somebody_makes_up)
{
	cr_expect_eq(probe_file_open(NULL, "/proc/self/maps"), -EREMOTE);
}

Test(probe_file, is_a_regular_file)
{
	char path[] = "/tmp/probe_file.XXXXXX";

	cr_assert(mkdtemp(path));
	cr_expect_eq(probe_file_open(NULL, path), -ESTALE);
	cr_assert(rmdir(path) == 0 && mkfifo(path, 0600) == 0);
	cr_expect_eq(probe_file_open(NULL, path), -ESTALE);
	unlink(path);
	cr_expect_eq(probe_file_open(NULL, path), -ENOENT);
}

Test(probe_file, is_opened_for_who_has_given_it)
{
	_cleanup_close_ int place = open("/bin/sh", O_PATH | O_CLOEXEC);
	_cleanup_close_ int given = probe_file_reopen(NULL, 65432, place);
	_cleanup_close_ int named = -1;

	cr_assert(given >= 0);
	cr_expect_eq(asked_for, 65432);
	named = probe_file_open(NULL, "/bin/sh");
	cr_expect_eq(asked_for, FINDERS_NOBODY);
}
