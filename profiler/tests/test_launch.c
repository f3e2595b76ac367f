// SPDX-License-Identifier: Apache-2.0
/* What a command that is profiled gets. */
#include "profiler/launch.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "symbols/debug_library.h"

static int run(char *script)
{
	char shell[] = "/bin/sh", option[] = "-c";
	char *argv[] = { shell, option, script, NULL };
	struct launch launch;
	int status;

	cr_assert_eq(launch_start(argv, NULL, &launch), 0);
	cr_assert_eq(launch_go(&launch), 0);
	cr_assert_eq(waitpid(launch.pid, &status, 0), launch.pid);
	return status;
}

Test(launch, gives_the_environment_that_it_was_given)
{
	char script[] = "test -z \"$DEBUGINFOD_MAXTIME\"";

	setenv("DEBUGINFOD_URLS", "http://localhost", true);
	unsetenv("DEBUGINFOD_MAXTIME");
	cr_assert_eq(debug_library_bound(1), 0);
	cr_assert_str_eq(getenv("DEBUGINFOD_MAXTIME"), "1");
	cr_assert_eq(run(script), 0);
	cr_assert_str_eq(getenv("DEBUGINFOD_MAXTIME"), "1");
}

Test(launch, is_killed_before_it_begins)
{
	char command[] = "/bin/true", *argv[] = { command, NULL };
	struct launch launch;
	siginfo_t info;

	cr_assert_eq(launch_start(argv, NULL, &launch), 0);
	cr_assert_eq(kill(launch.pid, SIGKILL), 0);
	cr_assert_eq(waitid(P_PID, (id_t)launch.pid, &info, WEXITED | WNOWAIT), 0);
	cr_assert_eq(launch_go(&launch), -EPIPE);
	cr_assert_eq(launch_wait(&launch), 128 + SIGKILL);
}
