// SPDX-License-Identifier: Apache-2.0
/* Output files: replaced when there is something to write, kept if a run fails; devices. */
#include "profiler/output.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static char directory[64], path[96];

static void begin(void)
{
	snprintf(directory, sizeof(directory), "/tmp/output.XXXXXX");
	cr_assert(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/report", directory);
}

static void end(void)
{
	unlink(path);
	cr_assert_eq(rmdir(directory), 0);
}

TestSuite(output, .init = begin, .fini = end);

static void expect_content(const char *text)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char content[64] = "";

	cr_assert(fd >= 0 && read(fd, content, sizeof(content) - 1) >= 0);
	cr_assert_str_eq(content, text);
}

static void write_to(const char *text)
{
	struct output o;

	cr_assert_eq(output_open(path, &o), 0);
	cr_assert_eq(output_begin(&o), 0);
	fputs(text, o.file);
	cr_assert_eq(output_close(&o), 0);
}

Test(output, replaces_what_was_there_once_there_is_something)
{
	struct output o;

	write_to("a long report");
	expect_content("a long report");
	/* Nothing to write: the old content stays. */
	cr_assert_eq(output_open(path, &o), 0);
	cr_assert_eq(output_close(&o), 0);
	expect_content("a long report");
	write_to("short");
	expect_content("short");
}

Test(output, leaves_no_file_that_it_made_for_nothing)
{
	struct output o;

	cr_assert_eq(output_open(path, &o), 0);
	cr_assert_eq(access(path, F_OK), 0);
	cr_assert_eq(output_close(&o), 0);
	cr_assert_neq(access(path, F_OK), 0);
}

/* The same file is written, so its readers keep reading it. */
Test(output, writes_the_file_that_is_there)
{
	char target[112];
	struct stat before, after;

	snprintf(target, sizeof(target), "%s.real", path);
	close(open(target, O_CREAT | O_WRONLY | O_CLOEXEC, 0640));
	cr_assert(stat(target, &before) == 0 && symlink(target, path) == 0);
	write_to("text");
	expect_content("text");
	cr_assert(stat(target, &after) == 0 && after.st_ino == before.st_ino &&
		  after.st_mode == before.st_mode);
	cr_assert(lstat(path, &after) == 0 && S_ISLNK(after.st_mode));
	unlink(target);
}

/* A bare chroot may lack the device, and a regular file would be created. */
static bool is_device(const char *file)
{
	struct stat st;

	return stat(file, &st) == 0 && S_ISCHR(st.st_mode);
}

Test(output, goes_to_devices)
{
	struct output o;

	cr_assert(is_device("/dev/null"));
	cr_assert_eq(output_open("/dev/null", &o), 0);
	cr_assert_eq(output_begin(&o), 0);
	fputs("text", o.file);
	cr_assert_eq(output_close(&o), 0);
	cr_assert_eq(access("/dev/null", F_OK), 0);
}

Test(output, says_what_goes_wrong)
{
	struct output o;

	cr_assert_eq(output_open("/nowhere/at/all", &o), -ENOENT);
	cr_assert_eq(output_open(directory, &o), -EISDIR);
	cr_assert(is_device("/dev/full"));
	cr_assert_eq(output_open("/dev/full", &o), 0);
	cr_assert_eq(output_begin(&o), 0);
	fputs("text", o.file);
	cr_assert_eq(output_close(&o), -ENOSPC);
}
