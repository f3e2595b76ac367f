// SPDX-License-Identifier: Apache-2.0
/* Which recordings are removed, and what is left where that fails or the clock is wrong. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/store.h"
#include "log/clock.h"

#define NS_PER_S UINT64_C(1000000000)
#define HOUR_NS (3600 * NS_PER_S)

static char path[] = "/tmp/store.XXXXXX";
static struct store *store;
static bool cannot_be_read; /* the directory, after its first entry */

/* Which of the two it is depends on the size of off_t. */
struct dirent *__real_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);
struct dirent64 *__real_readdir64(DIR *dir);
struct dirent64 *__wrap_readdir64(DIR *dir);

static bool is_short; /* of memory */

void *__real_reallocarray(void *items, size_t n, size_t size);
void *__wrap_reallocarray(void *items, size_t n, size_t size);

void *__wrap_reallocarray(void *items, size_t n, size_t size)
{
	return is_short ? NULL : __real_reallocarray(items, n, size);
}

static bool fails(void)
{
	static unsigned int n_read;

	if (!cannot_be_read || n_read++ == 0)
		return false;
	errno = EIO;
	return true;
}

struct dirent *__wrap_readdir(DIR *dir)
{
	return fails() ? NULL : __real_readdir(dir);
}

struct dirent64 *__wrap_readdir64(DIR *dir)
{
	return fails() ? NULL : __real_readdir64(dir);
}

static int remove_one(const char *name, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(name);
}

static void make_directory(void)
{
	cr_assert(mkdtemp(path));
}

static void remove_directory(void)
{
	store_close(store);
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* One of 1000 bytes that began at that second, and ended at this time of the day. */
static void add(unsigned int started_s, uint64_t ended_real_ns)
{
	const struct timespec times[2] = { { 0, UTIME_OMIT },
					   { (time_t)(ended_real_ns / NS_PER_S),
					     (long)(ended_real_ns % NS_PER_S) } };
	struct store_file file;

	cr_assert_eq(store_begin(store, &file), 0);
	fprintf(file.to, "%1000u", started_s);
	fflush(file.to);
	cr_assert_eq(futimens(file.fd, times), 0);
	cr_assert_eq(store_end(store, &file, started_s * NS_PER_S), 0);
}

static void name(unsigned int started_s, char ret[64])
{
	snprintf(ret, 64, "%s/19700101T0000%02u.000000Z.dwarfprof", path, started_s);
}

static bool has(unsigned int started_s)
{
	char file[64];

	name(started_s, file);
	return access(file, F_OK) == 0;
}

TestSuite(store, .init = make_directory, .fini = remove_directory);

Test(store, the_oldest_go)
{
	const struct store_limits limits = { .size = 2000 };

	cr_assert_eq(store_open(path, &limits, &store), 0);
	for (unsigned int i = 1; i <= 4; i++)
		add(i, clock_real_ns());
	cr_assert(!has(1) && !has(2) && has(3) && has(4));
	cr_assert_eq(store_state(store).n, 2);
	cr_assert_eq(store_state(store).n_removed, 2);
}

Test(store, what_cannot_be_removed_counts)
{
	const struct store_limits limits = { .size = 2000 };
	char file[64];

	cr_assert_eq(store_open(path, &limits, &store), 0);
	add(1, clock_real_ns());
	add(2, clock_real_ns());
	/* unlink(2) does not take it away. */
	name(1, file);
	cr_assert_eq(unlink(file), 0);
	cr_assert_eq(mkdir(file, 0700), 0);
	add(3, clock_real_ns());
	cr_assert(has(1) && !has(2) && has(3));
	cr_assert_eq(store_state(store).n, 2);
	cr_assert_eq(store_state(store).size, 2000);
	add(4, clock_real_ns());
	cr_assert(has(1) && !has(3) && has(4));
	/* It goes as soon as it can. */
	cr_assert_eq(rmdir(file), 0);
	add(5, clock_real_ns());
	cr_assert(has(4) && has(5));
	cr_assert_eq(store_state(store).n, 2);
}

Test(store, old_ones_go)
{
	const struct store_limits limits = { .age_ns = HOUR_NS };
	uint64_t now = clock_real_ns();

	cr_assert_eq(store_open(path, &limits, &store), 0);
	add(1, now - 2 * HOUR_NS);
	add(2, now - HOUR_NS / 2);
	add(3, now);
	cr_assert(!has(1) && has(2) && has(3));
}

/* The clock is set back between the second and the third. */
Test(store, a_time_in_the_future_holds_nothing_up)
{
	const struct store_limits limits = { .age_ns = HOUR_NS };
	uint64_t now = clock_real_ns();

	cr_assert_eq(store_open(path, &limits, &store), 0);
	add(1, now + 100 * HOUR_NS);
	add(2, now + 100 * HOUR_NS);
	add(3, now - 2 * HOUR_NS);
	cr_assert(!has(1) && !has(2) && has(3));
	add(4, now);
	cr_assert(!has(3) && has(4));
}

Test(store, a_time_in_the_future_is_found_at_the_start)
{
	struct store_limits limits = { .age_ns = HOUR_NS };

	cr_assert_eq(store_open(path, &limits, &store), 0);
	add(1, clock_real_ns() + 100 * HOUR_NS);
	store_close(store);
	cr_assert_eq(store_open(path, &limits, &store), 0);
	limits.age_ns = 1;
	store_set_limits(store, &limits);
	add(2, clock_real_ns());
	cr_assert(!has(1) && has(2));
}

/* What it does not know of would neither count nor be removed. */
Test(store, knows_all_recordings_or_is_not_opened)
{
	cannot_be_read = true;
	cr_assert_eq(store_open(path, &(struct store_limits){ 0 }, &store), -EIO);
	cr_assert_null(store);
}

Test(store, leaves_nothing_that_it_cannot_remember)
{
	struct store_file file;

	cr_assert_eq(store_open(path, &(struct store_limits){ 0 }, &store), 0);
	cr_assert_eq(store_begin(store, &file), 0);
	is_short = true;
	cr_assert_eq(store_end(store, &file, NS_PER_S), -ENOMEM);
	is_short = false;
	cr_assert_not(has(1));
	cr_assert_eq(store_state(store).n, 0);
}
