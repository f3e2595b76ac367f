// SPDX-License-Identifier: Apache-2.0
/*
 * Files kept between runs: limits of size, number and age, order of removal, owners and
 * permissions.
 */
#include "cache/disk_cache.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PAGE 4096
#define LIMIT (1 << 20)
/* The longest file that is kept. */
#define SHARE (LIMIT / 16)
#define DAY (24 * 3600)
#define NOBODY 65534

static char directory[64];
static struct disk_cache cache;
static char bytes[LIMIT];

static void begin(void)
{
	snprintf(directory, sizeof(directory), "/tmp/disk_cache.XXXXXX");
	cr_assert(mkdtemp(directory));
	cr_assert_eq(disk_cache_open(directory, LIMIT, &cache), 0);
}

static void end(void)
{
	_cleanup_closedir_ DIR *d = opendir(directory);
	struct dirent *entry;

	while ((entry = readdir(d)))
		if (entry->d_name[0] != '.' && unlinkat(dirfd(d), entry->d_name, 0) < 0)
			unlinkat(dirfd(d), entry->d_name, AT_REMOVEDIR);
	disk_cache_close(&cache);
	cr_assert_eq(rmdir(directory), 0);
}

TestSuite(disk_cache, .init = begin, .fini = end);

static int put(const char *name, size_t size)
{
	const struct iovec part = { bytes, size };

	return disk_cache_put(&cache, name, &part, 1);
}

/* Sets the last use of a file to so many seconds ago. */
static void age(const char *name, time_t seconds)
{
	struct timespec times[2] = { { .tv_sec = time(NULL) - seconds } };

	times[1] = times[0];
	cr_assert_eq(utimensat(cache.fd, name, times, 0), 0);
}

static bool has(const char *name)
{
	return faccessat(cache.fd, name, F_OK, 0) == 0;
}

/* Bytes of all files, in whole pages. */
static size_t total(void)
{
	_cleanup_closedir_ DIR *d = opendir(directory);
	struct dirent *entry;
	size_t sum = 0;
	struct stat st;

	while ((entry = readdir(d)))
		if (entry->d_name[0] != '.' && fstatat(dirfd(d), entry->d_name, &st, 0) == 0)
			sum += ((size_t)st.st_size + PAGE - 1) / PAGE * PAGE;
	return sum;
}

/* Another run of the program. */
static void reopen(void)
{
	disk_cache_close(&cache);
	cr_assert_eq(disk_cache_open(directory, LIMIT, &cache), 0);
}

static int open_file(const char *name)
{
	uint64_t size;
	int fd = disk_cache_open_file(&cache, name, &size);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

Test(disk_cache, gives_back_what_was_put)
{
	char name[] = "dwarfprof", text[16] = "";
	const struct iovec parts[] = { { name, 5 }, { name, 0 }, { name + 5, 4 } };
	uint64_t size;
	int fd;

	cr_assert_eq(disk_cache_put(&cache, "a" DISK_CACHE_IMAGE, parts, 3), 0);
	fd = disk_cache_open_file(&cache, "a" DISK_CACHE_IMAGE, &size);
	cr_assert(fd >= 0 && size == 9);
	cr_assert_eq(disk_cache_read(fd, text, 4, 3), 0);
	cr_assert_str_eq(text, "rfpr");
	cr_assert_eq(disk_cache_read(fd, text, 9, 0), 0);
	cr_assert_str_eq(text, "dwarfprof");
	cr_assert_eq(disk_cache_read(fd, text, 0, 9), 0);
	cr_assert_eq(disk_cache_read(fd, text, 10, 0), -EBADMSG);
	cr_assert_eq(disk_cache_read(fd, text, 1, 9), -EBADMSG);
	close(fd);
	cr_assert_eq(disk_cache_open_file(&cache, "b" DISK_CACHE_IMAGE, &size), -ENOENT);
	cr_assert_eq(total(), PAGE, "nothing else is left behind");
}

/* However old the files are, additions never exceed the limit. */
Test(disk_cache, has_its_limit_at_all_times)
{
	static const size_t sizes[] = { SHARE, 1, PAGE, PAGE + 1, SHARE - 1, SHARE / 2 };
	size_t most = 0;

	for (int i = 0; i < 200; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%03d%s", i,
			 i % 2 ? DISK_CACHE_IMAGE : DISK_CACHE_LOCATIONS);
		cr_assert_eq(put(name, sizes[i % 6]), 0);
		cr_assert(has(name));
		age(name, 1000 - i);
		if (total() > most)
			most = total();
		cr_assert_leq(total(), LIMIT, "%d files", i + 1);
	}
	/* Nor is more removed than the share after which the directory is scanned. */
	cr_assert_geq(most, LIMIT - 2 * SHARE);
	/* The most recently used files are still there. */
	for (int i = 195; i < 200; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%03d%s", i,
			 i % 2 ? DISK_CACHE_IMAGE : DISK_CACHE_LOCATIONS);
		cr_assert(has(name));
	}
}

Test(disk_cache, removes_what_was_not_used_for_longest)
{
	char name[32];

	for (int i = 0; i < 16; i++) {
		snprintf(name, sizeof(name), "%02d%s", i, DISK_CACHE_IMAGE);
		cr_assert_eq(put(name, SHARE), 0);
		age(name, i == 7 ? 5000 : 100 + i);
	}
	/* The whole limit is in use; the next file makes room for itself and some more. */
	cr_assert_eq(put("new" DISK_CACHE_IMAGE, SHARE), 0);
	cr_assert(!has("07" DISK_CACHE_IMAGE));
	for (int i = 0; i < 14; i++) {
		snprintf(name, sizeof(name), "%02d%s", i, DISK_CACHE_IMAGE);
		cr_assert(i == 7 || has(name), "%s", name);
	}
}

/* The time is over when a file is older, by a second, than it. */
static void expect_removed_after(const char *name, time_t seconds)
{
	time_t start;

	do {
		start = time(NULL);
		cr_assert_eq(put(name, 1), 0);
		age(name, seconds);
		reopen();
		cr_assert_eq(put("other" DISK_CACHE_IMAGE, 1), 0);
	} while (time(NULL) != start); /* it has become older since */
	cr_assert(has(name), "%s", name);
	age(name, seconds + 1);
	reopen();
	cr_assert_eq(put("other" DISK_CACHE_IMAGE, 1), 0);
	cr_assert(!has(name), "%s", name);
}

/* Files unused for a month, and files never completed, are removed; other files are not. */
Test(disk_cache, removes_what_nobody_uses)
{
	cr_assert_eq(put("readme", 1), 0);
	age("readme", 365 * DAY);
	expect_removed_after("a" DISK_CACHE_IMAGE, 30 * DAY);
	expect_removed_after("a" DISK_CACHE_LOCATIONS, 30 * DAY);
	expect_removed_after("a" DISK_CACHE_DIGEST, 30 * DAY);
	expect_removed_after("0123456789abcdef.new", 3600);
	cr_assert(has("readme"));
}

Test(disk_cache, keeps_nothing_that_is_too_long)
{
	uint64_t size;
	int fd;

	cr_assert_eq(put("a" DISK_CACHE_IMAGE, SHARE + 1), -EFBIG);
	cr_assert_eq(total(), 0);
	cr_assert_eq(put("a" DISK_CACHE_IMAGE, SHARE), 0);
	fd = disk_cache_open_file(&cache, "a" DISK_CACHE_IMAGE, &size);
	cr_assert(fd >= 0 && size == SHARE);
	close(fd);
	/* Another process has put a longer one there. */
	fd = openat(cache.fd, "b" DISK_CACHE_IMAGE, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	cr_assert(ftruncate(fd, SHARE + 1) == 0);
	close(fd);
	cr_assert_eq(open_file("b" DISK_CACHE_IMAGE), -EFBIG);
}

/* Writing a longer file would send a signal that ends the program. */
Test(disk_cache, keeps_to_the_limit_of_files)
{
	struct rlimit limit;

	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = 2 * PAGE;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_assert_eq(put("a" DISK_CACHE_IMAGE, 2 * PAGE), 0);
	cr_assert_eq(put("b" DISK_CACHE_IMAGE, 2 * PAGE + 1), -EFBIG);
	cr_assert_eq(total(), 2 * PAGE);
}

Test(disk_cache, opens_files_of_its_user_alone)
{
	cr_assert_eq(put("a" DISK_CACHE_IMAGE, 1), 0);
	cr_assert_eq(symlinkat("a" DISK_CACHE_IMAGE, cache.fd, "link" DISK_CACHE_IMAGE), 0);
	cr_assert_eq(open_file("link" DISK_CACHE_IMAGE), -ELOOP);
	cr_assert_eq(mkfifoat(cache.fd, "pipe" DISK_CACHE_IMAGE, 0600), 0);
	cr_assert_eq(open_file("pipe" DISK_CACHE_IMAGE), -EPERM);
	cr_assert_eq(mkdirat(cache.fd, "dir" DISK_CACHE_IMAGE, 0700), 0);
	cr_assert_eq(open_file("dir" DISK_CACHE_IMAGE), -EPERM);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(open_file("a" DISK_CACHE_IMAGE), 0);
		cr_assert_eq(fchmodat(cache.fd, "a" DISK_CACHE_IMAGE, i ? 0620 : 0602, 0), 0);
		cr_assert_eq(open_file("a" DISK_CACHE_IMAGE), -EPERM);
		cr_assert_eq(fchmodat(cache.fd, "a" DISK_CACHE_IMAGE, 0644, 0), 0);
	}
}

/* A used file is not removed. */
Test(disk_cache, notes_what_is_used)
{
	struct stat st;
	uint64_t size;
	int fd;

	cr_assert_eq(put("a" DISK_CACHE_LOCATIONS, 1), 0);
	age("a" DISK_CACHE_LOCATIONS, 10000);
	fd = disk_cache_open_file(&cache, "a" DISK_CACHE_LOCATIONS, &size);
	cr_assert(fd >= 0);
	disk_cache_used(fd);
	cr_assert(fstat(fd, &st) == 0 && st.st_mtim.tv_sec > time(NULL) - 1000);
	close(fd);
}

static void expect_path(uid_t user, const char *xdg, const char *home, const char *wanted)
{
	_cleanup_free_ char *path = disk_cache_path(user, xdg, home);

	cr_assert(wanted ? path && strcmp(path, wanted) == 0 : !path, "%s", path);
}

/* Root does not use a directory from another user's environment; other users have their own. */
Test(disk_cache, is_where_its_user_s_caches_are)
{
	expect_path(0, "/home/user/xdg", "/home/user", "/var/cache/dwarfprof");
	expect_path(0, NULL, NULL, "/var/cache/dwarfprof");
	expect_path(1000, "/home/user/xdg", "/home/user", "/home/user/xdg/dwarfprof");
	expect_path(1000, "", "/home/user", "/home/user/.cache/dwarfprof");
	expect_path(1000, "xdg", "/home/user", "/home/user/.cache/dwarfprof");
	expect_path(1000, NULL, "home", NULL);
	expect_path(1000, NULL, NULL, NULL);
}

Test(disk_cache, is_not_opened_where_others_may_write)
{
	struct disk_cache other;
	char path[96];

	snprintf(path, sizeof(path), "%s/others", directory);
	cr_assert(mkdir(path, 0700) == 0);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(chmod(path, i ? 0720 : 0702), 0);
		cr_assert_eq(disk_cache_open(path, LIMIT, &other), -EPERM);
	}
	cr_assert_eq(chmod(path, 0755), 0);
	cr_assert_eq(disk_cache_open(path, LIMIT, &other), 0);
	disk_cache_close(&other);
}

static void expect_open(const char *path, int expected_err)
{
	struct disk_cache other;
	int err = disk_cache_open(path, LIMIT, &other);

	cr_assert(err == expected_err, "%s: %d", path, err);
	if (err == 0)
		disk_cache_close(&other);
}

Test(disk_cache, is_in_a_directory_of_its_user)
{
	char path[128], link[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/a/b/c", directory);
	umask(0);
	expect_open(path, 0);
	for (int i = 0; i < 3; i++) {
		cr_assert(stat(path, &st) == 0 && (st.st_mode & 07777) == 0700, "%s", path);
		cr_assert(i == 2 || rmdir(path) == 0);
		*strrchr(path, '/') = '\0';
	}
	expect_open("/proc/dwarfprof", -ENOENT);
	expect_open("/dev/null", -ENOTDIR);
	snprintf(link, sizeof(link), "%s/link", directory);
	snprintf(path, sizeof(path), "%s/a", directory);
	cr_assert(symlink(path, link) == 0);
	expect_open(link, -ENOTDIR);
	cr_assert(chmod(path, 0770) == 0);
	expect_open(path, -EPERM);
	cr_assert(chmod(path, 0755) == 0);
	expect_open(path, 0);
	if (geteuid() == 0) {
		cr_assert(chown(path, NOBODY, NOBODY) == 0);
		expect_open(path, -EPERM);
	}
}
