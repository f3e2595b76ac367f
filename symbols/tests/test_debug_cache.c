// SPDX-License-Identifier: Apache-2.0
#include "symbols/debug_cache.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SIZE 65536

static char directory[] = "/tmp/debug_cache.XXXXXX", path[256];

static void begin(void)
{
	cr_assert_not_null(mkdtemp(directory));
}

static void end(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", directory);
	cr_assert_eq(system(command), 0);
}

TestSuite(debug_cache, .init = begin, .fini = end);

/* used: in seconds since 1970. */
static const char *make_file(const char *name, const char *file, time_t used)
{
	const struct timespec times[] = { { used, 0 }, { 1, 0 } };
	static char data[SIZE]; /* random: it is not to be compressed */
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	(void)mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/%s", directory, name, file);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	for (size_t at = 0; at < sizeof(data); at += 256)
		cr_assert_eq(getrandom(data + at, 256, 0), 256);
	cr_assert_eq(write(fd, data, SIZE), SIZE);
	cr_assert_eq(fsync(fd), 0); /* it gets its blocks */
	cr_assert_eq(futimens(fd, times), 0);
	close(fd);
	return path;
}

static const char *make(const char *name, time_t used)
{
	return make_file(name, "debuginfo", used);
}

static bool is_there(const char *name)
{
	char at[256];

	snprintf(at, sizeof(at), "%s/%s/debuginfo", directory, name);
	return access(at, F_OK) == 0;
}

static bool has_directory(const char *name)
{
	char at[256];

	snprintf(at, sizeof(at), "%s/%s", directory, name);
	return access(at, F_OK) == 0;
}

Test(debug_cache, removes_what_was_not_used)
{
	make("aa01", 300);
	make("aa02", 100);
	make("aa03", 200);
	make("other", 10);
	debug_cache_limit(make("aa04", 50), 4 * SIZE);
	cr_assert(is_there("aa01") && is_there("aa02") && is_there("aa03") && is_there("aa04"));
	debug_cache_limit(path, 2 * SIZE);
	cr_assert(is_there("aa01") && !has_directory("aa02") && !has_directory("aa03"));
	cr_assert(is_there("aa04"), "the file just fetched");
	cr_assert(is_there("other"), "no build id");
	debug_cache_limit(path, 0);
	cr_assert(!is_there("aa01") && is_there("aa04"));
}

/* Nobody else removes what a killed process has left. */
Test(debug_cache, removes_what_is_not_whole)
{
	char part[256], other[256];

	snprintf(part, sizeof(part), "%s", make_file("aa01", "debuginfo.XyZ123", 100));
	snprintf(other, sizeof(other), "%s", make_file("aa01", "executable", 10));
	debug_cache_limit(make("aa02", 50), SIZE);
	cr_assert_neq(access(part, F_OK), 0);
	cr_assert_eq(access(other, F_OK), 0);
	cr_assert(is_there("aa02"));
}

Test(debug_cache, has_a_directory)
{
	struct stat st;

	snprintf(path, sizeof(path), "%s/above/debuginfod", directory);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(debug_cache_make(path), 0);
		cr_assert_eq(stat(path, &st), 0);
		cr_assert_eq(st.st_mode, S_IFDIR | 0700);
	}
	cr_assert_eq(debug_cache_make("debuginfod"), 0);
	cr_assert_neq(access("debuginfod", F_OK), 0);
	cr_assert_eq(debug_cache_make("/proc/none/debuginfod"), -ENOENT);
}

static void make_empty(const char *name, time_t written)
{
	const struct timespec times[] = { { written, 0 }, { written, 0 } };

	make(name, 0);
	cr_assert_eq(truncate(path, 0), 0);
	cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* An empty file is believed for ten minutes. */
Test(debug_cache, forgets_what_no_server_had)
{
	time_t now = time(NULL);

	make("aa01", 100);
	make_empty("aa02", now - 3600);
	make_empty("aa03", now);
	make_empty("other", now - 3600);
	make_empty("aa04", now - 3600);
	make_file("aa04", "executable", 100);
	debug_cache_forget_old(directory);
	cr_assert(is_there("aa01") && is_there("aa03") && is_there("other"));
	cr_assert(!has_directory("aa02"));
	cr_assert(!is_there("aa04") && has_directory("aa04"));
	debug_cache_forget_absent(directory, (const unsigned char *)"\xaa\x03", 2);
	debug_cache_forget_absent(directory, (const unsigned char *)"\xaa\x01", 2);
	cr_assert(!has_directory("aa03") && is_there("aa01"));
}

Test(debug_cache, knows_the_size_of_a_part)
{
	make_file("aa01", "debuginfo.XyZ123", 100);
	make_file("aa01", "executable", 100);
	make_empty("aa01", 100);
	cr_assert_eq(debug_cache_size(directory, (const unsigned char *)"\xaa\x01", 2), SIZE);
	cr_assert_eq(debug_cache_size(directory, (const unsigned char *)"\xaa\x02", 2), 0);
}

Test(debug_cache, touches_nothing_elsewhere)
{
	make("aa01", 300);
	snprintf(path, sizeof(path), "%s/aa01", directory);
	debug_cache_limit(path, 0);
	debug_cache_limit("debuginfo", 0);
	debug_cache_limit("/debuginfo", 0);
	cr_assert(is_there("aa01"));
}
