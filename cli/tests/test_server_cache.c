// SPDX-License-Identifier: Apache-2.0
/* Where libdebuginfod keeps its files: compared with what the directory that was opened is. */
#include "cli/server_cache.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char home[] = "/tmp/server_cache.XXXXXX";

static void begin(void)
{
	cr_assert(mkdtemp(home));
	setenv("HOME", home, 1);
	unsetenv("XDG_CACHE_HOME");
	unsetenv("DEBUGINFOD_CACHE_PATH");
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void end(void)
{
	nftw(home, remove_one, 10, FTW_DEPTH | FTW_PHYS);
}

TestSuite(server_cache, .init = begin, .fini = end);

static void set_below_home(const char *variable, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", home, name);
	setenv(variable, path, 1);
}

/* No directory above it, which others keep their files in. */
static void expect_opened(const char *name)
{
	char link[64], path[PATH_MAX] = "", expected[PATH_MAX];
	int fd = server_cache_open();

	cr_assert(fd >= 0);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	cr_assert(readlink(link, path, sizeof(path) - 1) > 0);
	snprintf(expected, sizeof(expected), "%s/%s", home, name);
	cr_expect_str_eq(path, expected);
	cr_expect_str_eq(getenv("DEBUGINFOD_CACHE_PATH"), expected, "the library takes it");
	close(fd);
}

Test(server_cache, is_below_that_of_all_programs)
{
	expect_opened(".cache/debuginfod_client");
}

Test(server_cache, may_be_elsewhere)
{
	set_below_home("XDG_CACHE_HOME", "xdg");
	expect_opened("xdg/debuginfod_client");
}

Test(server_cache, may_be_given)
{
	set_below_home("XDG_CACHE_HOME", "xdg");
	set_below_home("DEBUGINFOD_CACHE_PATH", "given");
	expect_opened("given");
}

Test(server_cache, may_be_that_of_older_versions)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/.debuginfod_client_cache", home);
	cr_assert_eq(mkdir(path, 0700), 0);
	set_below_home("XDG_CACHE_HOME", "xdg");
	expect_opened(".debuginfod_client_cache");
}

Test(server_cache, may_be_impossible)
{
	if (geteuid() == 0)
		cr_skip_test("root has another one");
	setenv("DEBUGINFOD_CACHE_PATH", "/proc/none", 1);
	cr_expect_lt(server_cache_open(), 0);
}
