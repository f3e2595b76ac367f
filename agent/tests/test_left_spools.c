// SPDX-License-Identifier: Apache-2.0
/* Requests that no agent delivers: counted, and removed when old, if nobody comes for an hour. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/left_spools.h"
#include "deliver/spool.h"

static char directory[] = "/tmp/test_left_spools.XXXXXX";
static struct left_spools left;
static struct agent_options options = { .spool = directory, .spool_size = 1000 };

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void set_up(void)
{
	cr_assert(mkdtemp(directory));
}

static void tear_down(void)
{
	nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(left_spools, .init = set_up, .fini = tear_down);

static struct spool *open_spool(const char *name)
{
	struct spool *spool;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	cr_assert_eq(spool_open(path, 1000, &spool), 0);
	return spool;
}

/* n requests of 100 bytes, from so long ago. */
static struct spool *fill(const char *name, unsigned int n, time_t age)
{
	struct spool *spool = open_spool(name);
	char data[100] = "";

	for (unsigned int i = 0; i < n; i++) {
		struct timespec times[2];
		char path[192];

		cr_assert_eq(spool_add(spool, data, sizeof(data), 1), 0);
		snprintf(path, sizeof(path), "%s/%s/%020u-1", directory, name, i);
		clock_gettime(CLOCK_REALTIME, &times[0]);
		times[0].tv_sec -= age;
		times[1] = times[0];
		cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0, "%s", path);
	}
	return spool;
}

static void expect_counts(uint64_t n, uint64_t removed)
{
	struct left_counts counts = left_spools_counts(&left);

	cr_assert(counts.n == n && counts.removed == removed && counts.bytes == 100 * n,
		  "%lu wait, %lu removed", (unsigned long)counts.n, (unsigned long)counts.removed);
}

static void expect(uint64_t n, uint64_t removed)
{
	left_spools_look(&left, &options, true);
	expect_counts(n, removed);
}

/* As if it was so much later. */
static void pass(uint64_t ns)
{
	char pattern[128];
	glob_t found;

	left.looked_ns -= ns;
	snprintf(pattern, sizeof(pattern), "%s/*/" SPOOL_LEFT, directory);
	if (glob(pattern, 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct timespec times[2];
		struct stat st;

		cr_assert_eq(stat(found.gl_pathv[i], &st), 0);
		times[0] = times[1] = st.st_mtim;
		times[0].tv_sec = times[1].tv_sec -= (int64_t)ns / 1000000000;
		cr_assert_eq(utimensat(AT_FDCWD, found.gl_pathv[i], times, 0), 0);
	}
	globfree(&found);
}

static void expect_after(uint64_t ns, uint64_t n, uint64_t removed)
{
	pass(ns);
	left_spools_look(&left, &options, false);
	expect_counts(n, removed);
}

Test(left_spools, are_those_that_nobody_has_open)
{
	struct spool *spool = fill("otlp-0123456789abcdef", 3, 0);

	expect(0, 0);
	spool_free(spool);
	expect(3, 0);
	spool = open_spool("otlp-0123456789abcdef");
	expect(0, 0);
	spool_free(spool);
}

#define WEEK (7 * 86400)
#define HOUR LEFT_SPOOLS_KNOWN_NS

/* Not at the start, nor while they may only have no agent for a while. */
Test(left_spools, lose_what_is_older_than_a_week)
{
	spool_free(fill("otlp-0", 2, 0));
	spool_free(fill("pyroscope-1", 3, WEEK + 60));
	spool_free(fill("pyroscope-2", 4, WEEK - 60));
	expect(9, 0);
	expect_after(HOUR / 2, 9, 0);
	expect(9, 0);
	pass(HOUR);
	expect(9, 0);
	expect_after(HOUR / 2, 6, 3);
	expect_after(HOUR, 6, 3);
}

Test(left_spools, keep_all_if_somebody_came)
{
	struct spool *spool;

	spool_free(fill("otlp-0", 2, WEEK + 60));
	expect(2, 0);
	spool = open_spool("otlp-0");
	expect_after(HOUR / 2, 0, 0);
	expect_after(HOUR, 0, 0);
	spool_free(spool);
	expect_after(HOUR, 2, 0);
	expect_after(HOUR / 2, 2, 0);
	expect_after(HOUR / 2, 0, 2);
}

/* Many agents do not run for an hour. */
Test(left_spools, are_known_to_an_agent_that_was_restarted)
{
	spool_free(fill("otlp-0", 2, WEEK + 60));
	expect(2, 0);
	expect_after(HOUR / 2, 2, 0);
	left = (struct left_spools){ 0 };
	expect(2, 0);
	expect_after(HOUR / 2, 0, 2);
}

Test(left_spools, keep_all_if_the_clock_was_set_back)
{
	spool_free(fill("otlp-0", 2, WEEK + 60));
	expect(2, 0);
	pass(-2 * HOUR);
	left.looked_ns -= 2 * HOUR;
	expect_after(HOUR / 2, 2, 0); /* from here on */
	expect_after(HOUR / 2, 2, 0);
	expect_after(HOUR / 2, 0, 2);
}

Test(left_spools, keep_what_is_of_the_future)
{
	spool_free(fill("otlp-0", 2, -2 * WEEK));
	expect(2, 0);
	expect_after(2 * HOUR, 2, 0);
}

Test(left_spools, keep_what_is_too_much)
{
	spool_free(fill("otlp-0", 8, 10));
	spool_free(fill("otlp-1", 6, 3600));
	expect(14, 0);
	expect_after(2 * HOUR, 14, 0);
}

Test(left_spools, are_not_others_directories)
{
	spool_free(fill("store", 2, 5 * WEEK));
	expect(0, 0);
	expect_after(2 * HOUR, 0, 0);
}

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

/* As an agent delivers from there; but what a link names is somebody else's. */
Test(left_spools, may_be_in_a_linked_directory)
{
	char target[128];

	spool_free(fill("otlp-0", 3, 0));
	spool_free(fill("elsewhere", 2, 0));
	snprintf(target, sizeof(target), "%s/elsewhere", directory);
	cr_assert_eq(symlink(target, path_of("otlp-1")), 0);
	cr_assert_eq(symlink(directory, path_of("link")), 0);
	options.spool = path_of("link");
	expect(3, 0);
	options.spool = directory;
}

#define NOBODY 65534

/* What cannot be removed still waits. */
Test(left_spools, are_counted_if_they_cannot_be_removed)
{
	bool is_root = geteuid() == 0;

	if (is_root) {
		cr_assert_eq(chown(directory, NOBODY, NOBODY), 0);
		cr_assert_eq(seteuid(NOBODY), 0);
	}
	spool_free(fill("otlp-0", 3, WEEK + 60));
	expect(3, 0);
	cr_assert_eq(chmod(path_of("otlp-0"), 0500), 0);
	expect_after(2 * HOUR, 3, 0);
	cr_assert_eq(left.err, EACCES);
	cr_assert_eq(chmod(path_of("otlp-0"), 0700), 0);
	expect_after(HOUR, 0, 3);
	cr_assert_eq(left.err, 0);
	if (is_root)
		cr_assert_eq(seteuid(0), 0);
}

Test(left_spools, are_looked_at_now_and_then)
{
	expect(0, 0);
	spool_free(fill("otlp-0", 1, 0));
	left_spools_look(&left, &options, false);
	expect_counts(0, 0);
	expect_after(LEFT_SPOOLS_LOOK_NS, 1, 0);
	options.spool = NULL;
	expect(0, 0);
	options.spool = directory;
}
