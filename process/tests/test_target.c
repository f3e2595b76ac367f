// SPDX-License-Identifier: Apache-2.0
/* Which processes a run begins with, and the messages about others. */
#include "process/target.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "log/tests/said.h"
#include "process/tests/process_world.h"

TestSuite(target, .init = begin, .fini = end);

static pid_t pid;
static int result;

static void add(void)
{
	const struct target t = { .pids = &pid, .n_pids = 1 };

	result = target_add(&table, &t);
}

/* Expects this message for the process or thread with that number. */
static void expect_added(pid_t number, int err, const char *what)
{
	char *text;

	pid = number;
	text = said(add);
	cr_expect_eq(result, err, "%d", result);
	cr_expect(what ? strstr(text, what) != NULL : text[0] == '\0', "%s", text);
	free(text);
}

static pid_t start_sleeper(void)
{
	pid_t sleeper = fork();

	if (sleeper == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return sleeper;
}

static void stop(pid_t sleeper)
{
	kill(sleeper, SIGKILL);
	waitpid(sleeper, NULL, 0);
}

/* If all were added, no message says that some are missing. */
Test(target, takes_in_the_children_that_there_are)
{
	pid_t child = start_sleeper();

	table.no_binaries = true;
	expect_added(getpid(), 0, NULL);
	cr_assert(process_table_find(&table, getpid()));
	cr_assert(process_table_find(&table, child));
	stop(child);
}

Test(target, leaves_children_out_if_asked)
{
	pid_t child = start_sleeper();

	table.no_binaries = true;
	table.inherit = false;
	expect_added(getpid(), 0, NULL);
	cr_assert(process_table_find(&table, getpid()));
	cr_assert_null(process_table_find(&table, child));
	stop(child);
}

/* As what starts a host's helpers, and so these. */
Test(target, leaves_out_a_child_that_is_not_inherited)
{
	pid_t child = start_sleeper(), other = start_sleeper();

	table.no_binaries = true;
	table.not_inherited = child;
	expect_added(getpid(), 0, NULL);
	cr_assert_null(process_table_find(&table, child));
	cr_assert(process_table_find(&table, other));
	stop(child);
	stop(other);
}

Test(target, says_that_there_is_no_such_process)
{
	expect_added(PID(0), -ESRCH, "there is no process");
}
