// SPDX-License-Identifier: Apache-2.0
/* Processes that probes are set in: whether they live, and whose they are. */
#include "probes/probe_target.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"

#define USER 65432
#define GROUP 65431

static pid_t child;
static struct probe_target target;

/* What a process is bound by, or why that cannot be told. */
static const char *domain;
static int domain_error;

int __wrap_security_domain_read(unsigned int pid, char **ret);

int __wrap_security_domain_read(unsigned int pid, char **ret)
{
	(void)pid;
	*ret = domain && domain_error == 0 ? strdup(domain) : NULL;
	return domain_error;
}

/* What a process of USER may be: */
enum { AS_IT_IS, NOT_DUMPABLE, SAVED_USER, SAVED_GROUP };

static void live(int as, int to)
{
	(void)setgroups(0, NULL);
	if (setresgid(GROUP, GROUP, as == SAVED_GROUP ? 0 : GROUP) < 0 ||
	    setresuid(USER, USER, as == SAVED_USER ? 0 : USER) < 0 ||
	    prctl(PR_SET_DUMPABLE, as != NOT_DUMPABLE) < 0)
		_exit(1);
	(void)!write(to, "x", 1);
	for (;;)
		pause();
}

static void start(int as)
{
	int ends[2];
	char byte;

	if (geteuid() != 0)
		cr_skip("it becomes another user");
	cr_assert_eq(pipe(ends), 0);
	child = fork();
	if (child == 0)
		live(as, ends[1]);
	close(ends[1]);
	cr_assert_eq(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	cr_assert_eq(probe_target_open((unsigned int)child, &target), 0);
}

static void end(void)
{
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		probe_target_close(&target);
	}
	child = 0;
}

TestSuite(probe_target, .fini = end, .timeout = 60);

Test(probe_target, is_of_its_user)
{
	start(AS_IT_IS);
	cr_assert(probe_target_is_of(&target, USER, GROUP));
	cr_assert(!probe_target_is_of(&target, USER + 1, GROUP));
	cr_assert(!probe_target_is_of(&target, USER, GROUP + 1));
}

Test(probe_target, may_not_be_dumped)
{
	start(NOT_DUMPABLE);
	cr_assert(!probe_target_is_of(&target, USER, GROUP));
}

Test(probe_target, can_become_another_user)
{
	start(SAVED_USER);
	cr_assert(!probe_target_is_of(&target, USER, GROUP));
}

Test(probe_target, can_get_another_group)
{
	start(SAVED_GROUP);
	cr_assert(!probe_target_is_of(&target, USER, GROUP));
}

/* The kernel tells its module's rules by a name. */
Test(probe_target, is_bound_by_other_rules)
{
	static const char *const names[] = { NULL, "", "unconfined\n", "guarded (enforce)\n" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		domain = names[i];
		start(AS_IT_IS);
		for (size_t j = 0; j < ARRAY_SIZE(names); j++) {
			domain = names[j];
			/* What may not be read may be any. */
			cr_assert_eq(probe_target_is_of(&target, USER, GROUP),
				     i == j && (!names[i] || *names[i]));
		}
		end();
	}
}

Test(probe_target, may_be_bound_by_what_cannot_be_told)
{
	struct probe_target own;

	start(AS_IT_IS);
	domain_error = -ENOMEM;
	cr_assert(!probe_target_is_of(&target, USER, GROUP));
	cr_assert_eq(probe_target_open((unsigned int)child, &own), -ENOMEM);
	cr_assert_eq(own.pidfd, -1);
}

Test(probe_target, has_capabilities)
{
	struct probe_target own;

	cr_assert_eq(probe_target_open((unsigned int)getpid(), &own), 0);
	if (geteuid() == 0)
		cr_assert(!probe_target_is_of(&own, geteuid(), getegid()));
	probe_target_close(&own);
}

Test(probe_target, ends)
{
	struct probe_target again;

	start(AS_IT_IS);
	cr_assert(!probe_target_has_ended(&target));
	cr_assert_eq(kill(child, SIGKILL), 0);
	while (!probe_target_has_ended(&target))
		usleep(1000);
	cr_assert(!probe_target_is_of(&target, USER, GROUP));
	cr_assert_eq(waitpid(child, NULL, 0), child);
	cr_assert(probe_target_has_ended(&target));
	cr_assert_eq(probe_target_open((unsigned int)child, &again), -ESRCH);
	probe_target_close(&target);
	child = 0;
}

/* Whose number another process of this user has. */
Test(probe_target, has_a_successor)
{
	struct probe_target first;

	start(AS_IT_IS);
	first = target;
	cr_assert(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
	start(AS_IT_IS);
	first.pid = target.pid;
	cr_assert(probe_target_is_of(&target, USER, GROUP));
	cr_assert(!probe_target_is_of(&first, USER, GROUP));
	probe_target_close(&first);
}

static void *open_own_number(void *ret)
{
	struct probe_target own;

	*(int *)ret = probe_target_open((unsigned int)gettid(), &own);
	return NULL;
}

Test(probe_target, is_no_thread)
{
	pthread_t thread;
	int err = 0;

	cr_assert_eq(pthread_create(&thread, NULL, open_own_number, &err), 0);
	pthread_join(thread, NULL);
	cr_assert_eq(err, -ESRCH);
}
