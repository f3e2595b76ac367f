// SPDX-License-Identifier: Apache-2.0
/* The spool: order, bound, what is left by a process that was killed. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deliver/spool.h"

static char path[] = "/tmp/spool.XXXXXX";
static struct spool *spool;
static struct spool_counts counts;
static unsigned int n_full;  /* so many files find no room on the disk */
static bool is_counted_then; /* while the disk works */

int __wrap_fdatasync(int fd);
int __real_fdatasync(int fd);

int __wrap_fdatasync(int fd)
{
	if (is_counted_then)
		spool_counts(spool, &counts);
	if (n_full == 0)
		return __real_fdatasync(fd);
	n_full--;
	errno = ENOSPC;
	return -1;
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
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void add(const char *text)
{
	cr_assert_eq(spool_add(spool, text, strlen(text), strlen(text)), 0);
}

static void expect_at(size_t i, const char *text)
{
	struct spool_request request;

	cr_assert_eq(spool_take(spool, i, &request), 0);
	cr_assert_eq(request.size, strlen(text));
	cr_assert_eq(request.n_events, request.size);
	cr_assert_eq(memcmp(request.data, text, request.size), 0, "%.*s, not %s", (int)request.size,
		     (char *)request.data, text);
	spool_request_done(&request);
}

static void expect(const char *text)
{
	expect_at(0, text);
}

static void expect_nothing(void)
{
	struct spool_request request;

	cr_assert_eq(spool_take(spool, 0, &request), -ENOENT);
}

static void is_in_order(const char *where)
{
	cr_assert_eq(spool_open(where, 100, &spool), 0);
	add("one");
	add("two");
	expect("one");
	spool_done(spool, false);
	expect("one");
	add("three");
	spool_done(spool, true);
	expect("two");
	spool_done(spool, true);
	expect("three");
	spool_done(spool, true);
	expect_nothing();
	spool_counts(spool, &counts);
	cr_assert(counts.n == 0 && counts.bytes == 0 && counts.dropped == 0);
	spool_free(spool);
}

/* The third takes the room of the first, the fourth not that of one on its way, the last none. */
static void has_a_bound(const char *where)
{
	cr_assert_eq(spool_open(where, 8, &spool), 0);
	add("1234");
	add("5678");
	spool_counts(spool, &counts);
	cr_assert(counts.n == 2 && counts.bytes == 8 && counts.dropped == 0);
	add("9");
	spool_counts(spool, &counts);
	cr_assert(counts.n == 2 && counts.bytes == 5 && counts.dropped == 1);
	expect("5678");
	add("abcd");
	cr_assert_eq(spool_add(spool, "123456789", 9, 9), -EFBIG);
	spool_counts(spool, &counts);
	cr_assert(counts.n == 2 && counts.dropped == 3);
	spool_done(spool, true);
	expect("abcd");
	spool_done(spool, true);
	expect_nothing();
	spool_free(spool);
}

/* Of three, the second is on its way while the others make room. */
static void others_may_be_taken(const char *where)
{
	uint64_t oldest;

	cr_assert_eq(spool_open(where, 8, &spool), 0);
	cr_assert_eq(spool_oldest(spool), UINT64_MAX);
	add("123");
	add("45");
	add("678");
	oldest = spool_oldest(spool);
	expect_at(1, "45");
	spool_done(spool, false);
	cr_assert_eq(spool_oldest(spool), oldest);
	expect_at(1, "45");
	add("abcde");
	spool_counts(spool, &counts);
	cr_assert(counts.n == 2 && counts.bytes == 7 && counts.dropped == 2);
	cr_assert_eq(spool_oldest(spool), oldest + 1);
	spool_done(spool, true);
	expect("abcde");
	spool_done(spool, true);
	expect_nothing();
	spool_free(spool);
}

Test(spool, others_may_be_taken, .init = make_directory, .fini = remove_directory)
{
	others_may_be_taken(path);
	others_may_be_taken(NULL);
}

/* Adds one of 5 bytes to three, of which one is on its way, while the disk has no room. */
static void add_without_room(size_t taken, unsigned int n_files, int expected)
{
	static const char *const texts[] = { "123", "45", "678" };

	cr_assert_eq(spool_open(path, 100, &spool), 0);
	for (size_t i = 0; i < 3; i++)
		add(texts[i]);
	expect_at(taken, texts[taken]);
	n_full = n_files;
	cr_assert_eq(spool_add(spool, "abcde", 5, 5), expected);
	cr_assert_eq(n_full, 0);
}

/* What is on its way stays, wherever it is, and is the one that is done then. */
Test(spool, the_oldest_give_way_on_a_full_disk, .init = make_directory, .fini = remove_directory)
{
	for (size_t taken = 0; taken < 3; taken++) {
		add_without_room(taken, 1, 0);
		spool_done(spool, true);
		expect("abcde");
		spool_done(spool, true);
		expect_nothing();
		spool_counts(spool, &counts);
		cr_assert(counts.n == 0 && counts.bytes == 0 && counts.dropped == 2);
		spool_free(spool);
		add_without_room(taken, 2, -ENOSPC);
		spool_counts(spool, &counts);
		cr_assert(counts.n == 1 && counts.dropped == 3);
		spool_done(spool, true);
		expect_nothing();
		spool_free(spool);
	}
}

/* A disk may hang, and whoever counts does not. */
Test(spool, is_counted_while_it_is_written, .init = make_directory, .fini = remove_directory,
     .timeout = 60)
{
	cr_assert_eq(spool_open(path, 100, &spool), 0);
	add("one");
	is_counted_then = true;
	add("second");
	cr_assert(counts.n == 1 && counts.bytes == 3);
	spool_counts(spool, &counts);
	cr_assert(counts.n == 2 && counts.bytes == 9);
	spool_free(spool);
}

/* The oldest that is not on its way goes. */
static void gets_another_bound(const char *where)
{
	cr_assert_eq(spool_open(where, 12, &spool), 0);
	add("1234");
	add("5678");
	add("9abc");
	expect("1234");
	spool_set_limit(spool, 8);
	spool_counts(spool, &counts);
	cr_assert(counts.n == 2 && counts.bytes == 8 && counts.dropped == 1);
	spool_done(spool, true);
	expect("9abc");
	spool_done(spool, true);
	spool_free(spool);
}

Test(spool, gets_another_bound, .init = make_directory, .fini = remove_directory)
{
	gets_another_bound(path);
	gets_another_bound(NULL);
}

Test(spool, is_in_order, .init = make_directory, .fini = remove_directory)
{
	is_in_order(path);
	is_in_order(NULL);
}

Test(spool, has_a_bound, .init = make_directory, .fini = remove_directory)
{
	has_a_bound(path);
	has_a_bound(NULL);
}

/* Adds numbers until it is killed, and tells each. */
static void add_numbers(int tell)
{
	cr_assert_eq(spool_open(path, 1 << 30, &spool), 0);
	for (int i = 0;; i++) {
		char text[16];

		snprintf(text, sizeof(text), "%d", i);
		if (spool_add(spool, text, strlen(text), strlen(text)) < 0 ||
		    write(tell, &i, sizeof(i)) < 0)
			_exit(1);
	}
}

Test(spool, survives_a_kill, .init = make_directory, .fini = remove_directory)
{
	int told[2], last = -1, number;
	char text[16];
	pid_t pid;

	cr_assert_eq(pipe(told), 0);
	pid = fork();
	if (pid == 0)
		add_numbers(told[1]);
	close(told[1]);
	while (last < 50 && read(told[0], &number, sizeof(number)) == sizeof(number))
		last = number;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	while (read(told[0], &number, sizeof(number)) == sizeof(number))
		last = number;
	close(told[0]);
	cr_assert_geq(last, 50);
	cr_assert_eq(spool_open(path, 1 << 30, &spool), 0);
	for (int i = 0; i <= last; i++) {
		snprintf(text, sizeof(text), "%d", i);
		expect(text);
		spool_done(spool, true);
	}
	/* One may have been added and not told. */
	spool_counts(spool, &counts);
	cr_assert_leq(counts.n, 1);
	snprintf(text, sizeof(text), "%d", last + 1);
	if (counts.n == 1) {
		expect(text);
		spool_done(spool, true);
	}
	/* Numbers go on, so a new one is behind those that are left. */
	add("old");
	spool_free(spool);
	cr_assert_eq(spool_open(path, 1 << 30, &spool), 0);
	add("new");
	expect("old");
	spool_free(spool);
}

Test(spool, is_of_one_process, .init = make_directory, .fini = remove_directory)
{
	struct spool *other;

	cr_assert_eq(spool_open(path, 100, &spool), 0);
	cr_assert_eq(spool_open(path, 100, &other), -EBUSY);
	spool_free(spool);
	cr_assert_eq(spool_open(path, 100, &other), 0);
	spool_free(other);
}

static void *look_for_a_moment(void *arg)
{
	const int *lock = arg;

	usleep(50000);
	close(*lock);
	return NULL;
}

Test(spool, waits_for_who_only_looks, .init = make_directory, .fini = remove_directory)
{
	pthread_t thread;
	char name[64];
	int lock;

	cr_assert_eq(spool_open(path, 100, &spool), 0);
	spool_free(spool);
	snprintf(name, sizeof(name), "%s/lock", path);
	lock = open(name, O_WRONLY | O_CLOEXEC);
	cr_assert_eq(flock(lock, LOCK_EX | LOCK_NB), 0);
	cr_assert_eq(pthread_create(&thread, NULL, look_for_a_moment, &lock), 0);
	cr_assert_eq(spool_open(path, 100, &spool), 0);
	pthread_join(thread, NULL);
	spool_free(spool);
}

Test(spool, drops_what_cannot_be_read, .init = make_directory, .fini = remove_directory)
{
	struct spool_request request;
	char name[64];

	cr_assert_eq(spool_open(path, 100, &spool), 0);
	add("one");
	add("two");
	snprintf(name, sizeof(name), "%s/%020d-3", path, 0);
	cr_assert_eq(unlink(name), 0);
	cr_assert_eq(spool_take(spool, 0, &request), -EIO);
	expect("two");
	spool_counts(spool, &counts);
	cr_assert(counts.dropped == 1 && counts.dropped_events == 3);
	spool_free(spool);
}

/* Beside requests; one of an older version does not tell how many. */
static void counts_events(const char *where)
{
	struct spool_request request;

	cr_assert_eq(spool_open(where, 8, &spool), 0);
	cr_assert_eq(spool_add(spool, "1234", 4, 1000), 0);
	cr_assert_eq(spool_add(spool, "5678", 4, 200), 0);
	cr_assert_eq(spool_add(spool, "too long", 9, 30), -EFBIG);
	spool_counts(spool, &counts);
	cr_assert(counts.events == 1200 && counts.dropped_events == 30);
	cr_assert_eq(spool_add(spool, "9", 1, 4), 0);
	spool_counts(spool, &counts);
	cr_assert(counts.events == 204 && counts.dropped_events == 1030);
	cr_assert_eq(spool_take(spool, 0, &request), 0);
	cr_assert_eq(request.n_events, 200);
	spool_request_done(&request);
	spool_done(spool, true);
	spool_counts(spool, &counts);
	cr_assert(counts.events == 4 && counts.dropped_events == 1030);
	spool_free(spool);
}

Test(spool, counts_events, .init = make_directory, .fini = remove_directory)
{
	struct spool_request request;
	char old[64], new[64];

	counts_events(NULL);
	counts_events(path);
	snprintf(new, sizeof(new), "%s/%020d-4", path, 2);
	snprintf(old, sizeof(old), "%s/%020d", path, 1);
	cr_assert_eq(link(new, old), 0);
	cr_assert_eq(spool_open(path, 8, &spool), 0);
	spool_counts(spool, &counts);
	cr_assert(counts.n == 2 && counts.events == 4);
	for (uint64_t n_events = 0; n_events <= 4; n_events += 4) {
		cr_assert_eq(spool_take(spool, 0, &request), 0);
		cr_assert(request.n_events == n_events && request.size == 1);
		spool_request_done(&request);
		spool_done(spool, true);
	}
	spool_free(spool);
	cr_assert(access(old, F_OK) < 0 && access(new, F_OK) < 0);
}
