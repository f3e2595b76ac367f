/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_TESTS_ASK_PARSERS_H
#define DP_SANDBOX_TESTS_ASK_PARSERS_H

/* The parsers of a test program, which is also their helper. */

#include <criterion/criterion.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/helper.h"
#include "sandbox/parsers.h"
#include "sandbox/tests/helper_test.h"

int main(int argc, char **argv)
{
	if (helper_is_one(argv[0]))
		return helper_main(argc, argv);
	return run_tests(argc, argv);
}

static struct parsers *parsers;
static clockid_t job_clock;

static void begin(void)
{
	cr_assert(parsers_new(HELPER_SELF, &parsers) == 0);
}

static void end(void)
{
	parsers = parsers_drop(parsers);
}

static inline int ask(enum parse_kind kind, int fd, struct parse_result *ret)
{
	const struct parse_request request = { .kind = kind, .fd = fd, .other = -1 };

	return parsers_ask(parsers, &request, &job_clock, ret);
}

static int open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	cr_assert(fd >= 0);
	return fd;
}

/* A parser was there and has answered. */
static void expect_answer(void)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	_cleanup_close_ int fd = open_self();

	cr_assert(ask(PARSE_FACTS, fd, &result) == 0);
	cr_assert(result.facts.n_segments > 0);
}

/* One that was killed may take a while to end. */
static pid_t only_child(pid_t pid)
{
	pid_t found[16];

	while (children(pid, found) != 1)
		usleep(1000);
	return found[0];
}

static pid_t spawner(void)
{
	return only_child(getpid());
}

/* The only parser. */
static inline pid_t parser(void)
{
	return only_child(spawner());
}

#endif
