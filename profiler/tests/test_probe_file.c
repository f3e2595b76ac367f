// SPDX-License-Identifier: Apache-2.0
/* Files that the kernel may read when a probe is set. */
#include "profiler/probe_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

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
