// SPDX-License-Identifier: Apache-2.0
/* Whatever file a binary names as its source, what is read of it. */
#include "symbols/source_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "symbols/name_reader.h"
#include "symbols/tests/some_names.h"

static char directory[] = "/tmp/dwarfprof-test-XXXXXX";
static char path[64];

static void begin(void)
{
	cr_assert_not_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/file", directory);
}

static void end(void)
{
	unlink(path);
	rmdir(directory);
}

TestSuite(source_file, .init = begin, .fini = end, .timeout = 60);

static void make_file(const char *text, off_t size)
{
	_cleanup_close_ int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	cr_assert_eq(ftruncate(fd, size), 0);
}

static void expect_text(int fd, const char *text)
{
	char found[64] = "";

	cr_assert_geq(fd, 0, "%d", fd);
	cr_assert_eq(lseek(fd, 0, SEEK_CUR), 0);
	cr_assert_eq(read(fd, found, sizeof(found) - 1), (ssize_t)strlen(text));
	cr_assert_str_eq(found, text);
	close(fd);
}

Test(source_file, is_copied)
{
	make_file("int main", 8);
	expect_text(source_file_open(some_names(), path), "int main");
	make_file("", 3 * 16384 + 1);
	cr_assert_eq(lseek(source_file_open(some_names(), path), 0, SEEK_END), 3 * 16384 + 1);
}

/* Or it is not there. */
Test(source_file, is_a_file_of_a_size)
{
	cr_assert_eq(source_file_open(some_names(), path), -ENOENT);
	cr_assert_eq(source_file_open(some_names(), "file.c"), -ENOENT);
	cr_assert_eq(source_file_open(some_names(), directory), -ESTALE);
	cr_assert_eq(source_file_open(some_names(), "/dev/zero"), -ESTALE);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert_eq(source_file_open(some_names(), path), -ESTALE);
	unlink(path);
	make_file("", SOURCE_FILE_MAX);
	cr_assert_eq(lseek(source_file_open(some_names(), path), 0, SEEK_END), SOURCE_FILE_MAX);
	make_file("", SOURCE_FILE_MAX + 1);
	cr_assert_eq(source_file_open(some_names(), path), -EFBIG);
	expect_text(source_file_open(some_names(), "/proc/self/environ"), "");
}

/* One that has ended before it could say so has left something. */
static int copy_there(void *arg, const char *wanted, int to)
{
	(void)arg;
	if (strcmp(wanted, path) != 0)
		return -EBUSY;
	return write(to, "there, and more", 15) == 15 ? 5 : -EIO;
}

static void forget(void *arg)
{
	(void)arg;
}

Test(source_file, is_copied_by_the_reader)
{
	static const struct name_reader reader = { .copy_source = copy_there, .free = forget };

	make_file("here", 4);
	names_set_reader(some_names(), &reader, NULL);
	expect_text(source_file_open(some_names(), path), "there");
	cr_assert_eq(source_file_open(some_names(), "/elsewhere"), -EBUSY);
}
