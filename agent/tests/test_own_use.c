// SPDX-License-Identifier: Apache-2.0
#include "agent/own_use.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What a test's process uses, and a few ticks of 10 ms. */
#define SECONDS 0.2
#define LEAST 0.15

static void use_cpu(void)
{
	while ((double)clock() / CLOCKS_PER_SEC < SECONDS)
		;
}

static double read_seconds(void)
{
	struct own_use own, helpers;

	own_use_read(&own, &helpers);
	return helpers.cpu_seconds;
}

/* A counter that falls looks like one that has begun anew. */
Test(own_use, has_helpers_that_have_ended)
{
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		use_cpu();
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	cr_assert_gt(read_seconds(), LEAST);
	cr_assert_lt(read_seconds(), 2 * SECONDS);
}

Test(own_use, has_the_helpers_of_one_that_runs)
{
	double seconds;
	int ready[2];
	char byte;
	pid_t pid;

	cr_assert_eq(pipe(ready), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		pid_t child;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		child = fork();

		if (child == 0) {
			use_cpu();
			_exit(0);
		}
		if (waitpid(child, NULL, 0) != child || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	cr_assert_eq(read(ready[0], &byte, 1), 1);
	seconds = read_seconds();
	cr_assert_gt(seconds, LEAST);
	cr_assert_eq(kill(pid, SIGKILL), 0);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	cr_assert_geq(read_seconds(), seconds - 0.011, "fell by more than a tick");
}
