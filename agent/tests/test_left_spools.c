// SPDX-License-Identifier: Apache-2.0
/* Requests for backends that are not configured any more: counted, and removed when old or too many. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
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

		cr_assert_eq(spool_add(spool, data, sizeof(data)), 0);
		snprintf(path, sizeof(path), "%s/%s/%020u", directory, name, i);
		clock_gettime(CLOCK_REALTIME, &times[0]);
		times[0].tv_sec -= age;
		times[1] = times[0];
		cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0, "%s", path);
	}
	return spool;
}

static void expect(uint64_t n, uint64_t removed)
{
	struct left_counts counts;

	left_spools_look(&left, &options, true);
	counts = left_spools_counts(&left);
	cr_assert(counts.n == n && counts.removed == removed && counts.bytes == 100 * n,
		  "%lu wait, %lu removed", (unsigned long)counts.n, (unsigned long)counts.removed);
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

Test(left_spools, lose_what_is_older_than_a_week)
{
	spool_free(fill("otlp-0", 2, 0));
	spool_free(fill("pyroscope-1", 3, 7 * 86400 + 60));
	spool_free(fill("pyroscope-2", 4, 7 * 86400 - 60));
	expect(6, 3);
	expect(6, 3);
}

/* The oldest of all go first, and what an agent uses does not count. */
Test(left_spools, have_the_size_of_one_together)
{
	struct spool *used = fill("otlp-2", 5, 7200), *old;

	spool_free(fill("otlp-0", 8, 10));
	spool_free(fill("otlp-1", 6, 3600));
	expect(10, 4);
	old = open_spool("otlp-1");
	expect(8, 4);
	spool_free(old);
	spool_free(used);
}

Test(left_spools, are_not_others_directories)
{
	spool_free(fill("store", 2, 30 * 86400));
	expect(0, 0);
}

Test(left_spools, are_looked_at_now_and_then)
{
	expect(0, 0);
	spool_free(fill("otlp-0", 1, 0));
	left_spools_look(&left, &options, false);
	cr_assert_eq(left_spools_counts(&left).n, 0);
	left.looked_ns -= LEFT_SPOOLS_LOOK_NS;
	left_spools_look(&left, &options, false);
	cr_assert_eq(left_spools_counts(&left).n, 1);
	options.spool = NULL;
	expect(0, 0);
	options.spool = directory;
}
