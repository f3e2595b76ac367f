// SPDX-License-Identifier: Apache-2.0
/* What users have cost, and how long that counts. */
#include "sandbox/fetch_shares.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "limits/limits.h"

enum { USER = 1000, OTHER, NOW = 1000 };

static struct fetch_shares shares;

static void end(void)
{
	fetch_shares_done(&shares);
}

TestSuite(fetch_shares, .fini = end, .timeout = 60);

static int open_pid(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	cr_assert(fd >= 0);
	return fd;
}

/* Of a process that has ended. */
static int open_ended(void)
{
	pid_t pid = fork();
	int fd;

	if (pid == 0)
		_exit(0);
	fd = open_pid(pid);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	return fd;
}

static void lose(uid_t user, uint64_t now, int pidfd)
{
	fetch_shares_lose(&shares, &(struct fetch_payer){ .user = user }, now, pidfd);
}

static size_t room_in_all(uint64_t now)
{
	size_t all;

	(void)fetch_shares_room(&shares, &(struct fetch_payer){ .user = OTHER }, now, &all);
	return all;
}

static size_t room(uid_t user, uint64_t now)
{
	const struct fetch_payer payer = { .user = user };
	size_t all, n = fetch_shares_room(&shares, &payer, now, &all);

	cr_assert_leq(n, all);
	cr_assert_eq(fetch_shares_allow(&shares, user, now), n > 0);
	return n;
}

Test(fetch_shares, count_for_a_minute)
{
	cr_assert_eq(room(USER, NOW), FETCHERS_PER_USER);
	for (size_t i = 1; i <= FETCHERS_PER_USER; i++) {
		lose(USER, NOW, open_ended());
		cr_assert_eq(room(USER, NOW), FETCHERS_PER_USER - i);
	}
	lose(USER, NOW + 1, -1); /* which others need not pay for */
	cr_assert_eq(room_in_all(NOW), FETCHERS_IN_ALL - FETCHERS_PER_USER);
	cr_assert_eq(room(OTHER, NOW), FETCHERS_PER_USER);
	cr_assert_eq(room(USER, NOW + FETCHERS_REFUSED_NS - 1), 0);
	cr_assert_eq(room(USER, NOW + FETCHERS_REFUSED_NS), FETCHERS_PER_USER);
}

/* What a user has named, of others' file systems, costs one as much as a user. */
Test(fetch_shares, count_by_file_system)
{
	const struct fetch_payer slow = { USER, 7 }, other = { USER, 8 }, of_other = { OTHER, 7 };
	size_t all;

	for (size_t i = 0; i < FETCHERS_PER_USER; i++)
		fetch_shares_lose(&shares, &slow, NOW, open_ended());
	cr_assert_eq(fetch_shares_room(&shares, &slow, NOW, &all), 0);
	cr_assert_eq(all, FETCHERS_IN_ALL - FETCHERS_PER_USER);
	cr_assert_eq(fetch_shares_room(&shares, &other, NOW, &all), FETCHERS_PER_USER);
	cr_assert_eq(fetch_shares_room(&shares, &of_other, NOW, &all), FETCHERS_PER_USER);
	cr_assert_eq(room(USER, NOW), FETCHERS_PER_USER);
}

Test(fetch_shares, count_as_long_as_they_are_stuck)
{
	lose(USER, NOW, open_pid(getpid()));
	cr_assert_eq(room(USER, NOW + 9 * FETCHERS_REFUSED_NS), FETCHERS_PER_USER - 1);
}

/* Of more than the share, each has to end before there is room again. */
Test(fetch_shares, count_beyond_the_share)
{
	const uint64_t later = NOW + FETCHERS_REFUSED_NS;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	for (size_t i = 0; i < FETCHERS_PER_USER; i++)
		lose(USER, NOW, open_ended());
	for (size_t i = 0; i < 2 * FETCHERS_BEYOND; i++)
		lose(USER, NOW, open_pid(pid));
	lose(OTHER, NOW, open_pid(getpid()));
	cr_assert_eq(room(USER, later), 0);
	cr_assert_eq(room_in_all(later), FETCHERS_IN_ALL - 1);
	for (size_t i = 0; i < FETCHERS_PER_USER; i++)
		lose(OTHER, NOW, open_pid(getpid()));
	cr_assert_eq(shares.beyond[FETCHERS_BEYOND_OF_USER].payer.user, OTHER, "each has some");
	kill(pid, SIGKILL);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	cr_assert_eq(room(USER, later), FETCHERS_PER_USER);
	cr_assert_eq(room(OTHER, later), 0);
}

Test(fetch_shares, are_bounded_for_all)
{
	for (uid_t i = 0; i < FETCHERS_IN_ALL; i++) {
		cr_assert_eq(room_in_all(NOW), FETCHERS_IN_ALL - i);
		cr_assert_gt(room(OTHER + i, NOW), 0);
		lose(OTHER + i, NOW + i, open_ended());
	}
	cr_assert_eq(room(USER, NOW + FETCHERS_REFUSED_NS - 1), 0);
	cr_assert_eq(room(USER, NOW + FETCHERS_REFUSED_NS), 1);
	/* What is free again can be taken; one more than there is room for is not known. */
	lose(USER, NOW + 1, open_ended());
	cr_assert_eq(room(USER, NOW + FETCHERS_REFUSED_NS - 1), 0);
	lose(USER, NOW + 2, open_ended());
	cr_assert_eq(room(USER, NOW + FETCHERS_REFUSED_NS + 1), FETCHERS_PER_USER);
}

Test(fetch_shares, count_time)
{
	fetch_shares_charge(&shares, USER, NOW, FETCHERS_WAITED_NS - 1);
	cr_assert(fetch_shares_allow(&shares, USER, NOW));
	fetch_shares_charge(&shares, USER, NOW, 1);
	cr_assert(!fetch_shares_allow(&shares, USER, NOW + FETCHERS_WAITED_IN_NS - 1));
	cr_assert(fetch_shares_allow(&shares, OTHER, NOW));
	cr_assert(fetch_shares_allow(&shares, USER, NOW + FETCHERS_WAITED_IN_NS));
	shares.waited_ns = FETCHERS_WAITED_NS + 1;
	cr_assert(fetch_shares_allow(&shares, USER, NOW));
	fetch_shares_charge(&shares, USER, NOW, 1);
	cr_assert(!fetch_shares_allow(&shares, USER, NOW));
}
