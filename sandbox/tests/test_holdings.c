// SPDX-License-Identifier: Apache-2.0
/* Helpers hold nothing that their process has, whenever they were started. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "log/clock.h"
#include "sandbox/helper.h"
#include "sandbox/tests/ask_parsers.h"

TestSuite(holdings, .init = begin, .fini = end, .timeout = 120);

/* The only descriptors of a process are those of a helper. Else says which other there is. */
static bool has_only_its_own(pid_t pid, char *ret, size_t size)
{
	_cleanup_closedir_ DIR *d = NULL;
	char path[64], target[64];
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	cr_assert(d);
	while ((entry = readdir(d))) {
		ssize_t length = readlinkat(dirfd(d), entry->d_name, target, sizeof(target) - 1);
		int fd = atoi(entry->d_name);

		if (length < 0)
			continue; /* . and .. */
		target[length] = '\0';
		snprintf(ret, size, "%d is %s", fd, target);
		if (fd > HELPER_SOCKET ||
		    (fd == HELPER_SOCKET && strncmp(target, "socket:", 7) != 0))
			return false;
	}
	return true;
}

/* A spawner closes what it has passed on just after. */
static void expect_descriptors(pid_t pid)
{
	uint64_t end_ns = clock_now_ns() + 60 * UINT64_C(1000000000);
	char other[128];

	while (!has_only_its_own(pid, other, sizeof(other)))
		cr_assert(clock_now_ns() < end_ns, "%s", other);
}

/* A parser, and who has started it. */
static void expect_nothing(pid_t starter, pid_t helper)
{
	cr_assert_eq(status(helper, "CapEff", 16), 0);
	cr_assert_eq(status(helper, "CapPrm", 16), 0);
	cr_assert_eq(status(helper, "NoNewPrivs", 10), 1);
	cr_assert_eq(status(helper, "Seccomp", 10), 2);
	if (geteuid() != 0)
		return; /* its files and environment cannot be looked at */
	cr_assert_eq(status(helper, "Uid", 10), 65533);
	cr_assert_eq(status(helper, "Gid", 10), 65533);
	cr_assert_eq(status(helper, "CapBnd", 16), 0);
	expect_descriptors(starter);
	expect_descriptors(helper);
}

/* Whatever this process has open, and with or without root: also those that replace others. */
Test(holdings, are_nothing)
{
	int secret = open("/proc/self/exe", O_RDONLY); /* not even with O_CLOEXEC */
	pid_t first, helper;

	cr_assert(secret > HELPER_SOCKET);
	expect_answer();
	first = parser();
	expect_nothing(spawner(), first);
	cr_assert(kill(first, SIGKILL) == 0);
	expect_answer();
	cr_assert_neq(parser(), first);
	expect_nothing(spawner(), parser());
	helper = parser();
	first = spawner();
	cr_assert(kill(first, SIGKILL) == 0);
	kill(helper, SIGKILL); /* it may have ended with the spawner */
	expect_answer();
	cr_assert_neq(spawner(), first);
	expect_nothing(spawner(), parser());
}

/* Those of a second profiler, which starts when this process has all of the first one's open. */
Test(holdings, are_nothing_of_others_in_their_process)
{
	int secret = open("/proc/self/exe", O_RDONLY);
	struct parsers *first = parsers;
	pid_t first_spawner, other, starters[16];
	struct parsers *second;

	cr_assert(secret > HELPER_SOCKET);
	expect_answer();
	first_spawner = spawner();
	cr_assert_eq(parsers_new(HELPER_SELF, &second), 0);
	parsers = second;
	expect_answer();
	cr_assert_eq(children(getpid(), starters), 2);
	other = starters[starters[0] == first_spawner];
	expect_nothing(other, only_child(other));
	parsers_drop(second);
	parsers = first;
}
