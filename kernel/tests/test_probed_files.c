// SPDX-License-Identifier: Apache-2.0
/* What happens to a file while it is probed. */
#include "kernel/probed_files.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file_stat.h"
#include "kernel/uprobe_places.h"

static char directory[] = "/tmp/probed_files-XXXXXX";
static char path[64], other[64];
static struct probed_files files;

static int write_file(const char *at, const char *text)
{
	int fd = open(at, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	cr_assert(fd >= 0 && write(fd, text, 1) == 1);
	return fd;
}

static void begin(void)
{
	struct uprobe_places places = UPROBE_PLACES_NONE;

	cr_assert(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/probed", directory);
	snprintf(other, sizeof(other), "%s/other", directory);
	places.fd = write_file(path, "a");
	snprintf(places.path, sizeof(places.path), "%s", path);
	cr_assert_eq(file_stat(places.fd, &places.file), 0);
	cr_assert_eq(probed_files_add(&files, &places, true), 0);
	cr_assert_eq(probed_files_add(&files, &places, true), 0);
	uprobe_places_done(&places);
	cr_assert_eq(files.n, 1);
	cr_assert_eq(probed_file_change(&files.of[0]), PROBED_SAME);
}

static void end(void)
{
	probed_files_done(&files);
	unlink(path);
	unlink(other);
	rmdir(directory);
}

TestSuite(probed_files, .init = begin, .fini = end);

Test(probed_files, may_get_other_names)
{
	cr_assert_eq(link(path, other), 0);
	cr_assert_eq(probed_file_change(&files.of[0]), PROBED_SAME);
}

Test(probed_files, may_be_written_to)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { .tv_sec = 1 } };
	int fd = write_file(path, "b");

	/* A clock may have stood still since. */
	cr_assert_eq(futimens(fd, times), 0);
	cr_assert_eq(probed_file_change(&files.of[0]), PROBED_WRITTEN);
	close(fd);
}

Test(probed_files, may_be_cut)
{
	cr_assert_eq(truncate(path, 0), 0);
	cr_assert_eq(probed_file_change(&files.of[0]), PROBED_WRITTEN);
}

Test(probed_files, may_be_replaced)
{
	close(write_file(other, "a"));
	cr_assert_eq(rename(other, path), 0);
	cr_assert_eq(probed_file_change(&files.of[0]), PROBED_REPLACED);
}

Test(probed_files, may_be_written_to_and_removed)
{
	cr_assert_eq(truncate(path, 0), 0);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(probed_file_change(&files.of[0]), PROBED_WRITTEN);
}

Test(probed_files, may_be_removed)
{
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(probed_file_change(&files.of[0]), PROBED_REPLACED);
}

/* Only the file itself is looked at then. */
Test(probed_files, may_be_looked_at_without_their_paths)
{
	struct uprobe_places places = UPROBE_PLACES_NONE;

	probed_files_done(&files);
	places.fd = write_file(path, "a");
	snprintf(places.path, sizeof(places.path), "%s", path);
	cr_assert_eq(file_stat(places.fd, &places.file), 0);
	cr_assert_eq(probed_files_add(&files, &places, false), 0);
	uprobe_places_done(&places);
	cr_assert_eq(link(path, other), 0);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(probed_file_change(&files.of[0]), PROBED_SAME);
	cr_assert_eq(unlink(other), 0);
	cr_assert_eq(probed_file_change(&files.of[0]), PROBED_REPLACED);
}

/* A process elsewhere may have it at that path. */
Test(probed_files, may_never_have_been_at_its_path)
{
	struct uprobe_places places = UPROBE_PLACES_NONE;

	places.fd = write_file(other, "a");
	snprintf(places.path, sizeof(places.path), "%s/none", directory);
	cr_assert_eq(file_stat(places.fd, &places.file), 0);
	cr_assert_eq(probed_files_add(&files, &places, true), 0);
	uprobe_places_done(&places);
	cr_assert_eq(files.n, 2);
	cr_assert_eq(probed_file_change(&files.of[1]), PROBED_SAME);
}
