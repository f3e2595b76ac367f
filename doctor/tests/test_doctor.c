// SPDX-License-Identifier: Apache-2.0
/* What doctor reports to a user without any capability. */
#include "doctor/doctor.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NOBODY 65534

static struct doctor doctor;

static void become_nobody(void)
{
	if (geteuid() != 0)
		return;
	cr_assert(setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0);
	cr_assert(setresuid(NOBODY, NOBODY, NOBODY) == 0);
	/* Otherwise not even this process's own files could be read. */
	cr_assert(prctl(PR_SET_DUMPABLE, 1) == 0);
}

static void end(void)
{
	doctor_done(&doctor);
}

TestSuite(doctor, .fini = end);

static const struct finding *finding(const char *what)
{
	for (size_t i = 0; i < doctor.n; i++)
		if (strcmp(doctor.findings[i].what, what) == 0)
			return &doctor.findings[i];
	cr_assert_fail("nothing is said of %s", what);
	return NULL;
}

/* There is at least this process. */
Test(doctor, counts_the_processes_that_can_be_read)
{
	const struct finding *f;
	size_t n_read, n;

	become_nobody();
	cr_assert_eq(doctor_examine(&doctor, NULL, NULL), 0);
	f = finding("processes");
	cr_assert(sscanf(f->value, "%zu of %zu", &n_read, &n) == 2 && n_read >= 1 && n_read <= n,
		  "%s", f->value);
	cr_assert_eq(f->state, n_read == n ? FINDING_OK : FINDING_LIMITED, "%s", f->value);
}

/* A run would only say that there is no such process. */
Test(doctor, says_that_processes_of_others_are_hidden)
{
	const struct finding *f;

	if (unshare(CLONE_NEWNS) < 0 && errno == EPERM)
		cr_skip("only root can mount, and not in each container");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 && errno == EINVAL)
		cr_skip("in a chroot that is no mount");
	cr_assert(mount("proc", "/proc", "proc", 0, "hidepid=2") == 0, "%s", strerror(errno));
	become_nobody();
	cr_assert_eq(doctor_examine(&doctor, NULL, NULL), 0);
	f = finding("/proc");
	cr_assert_eq(f->state, FINDING_MISSING);
	/* Linux shows a word instead of a number since 5.8. */
	cr_assert(f->value && (strcmp(f->value, "hidepid=invisible") == 0 ||
			       strcmp(f->value, "hidepid=2") == 0),
		  "%s", f->value);
	cr_assert(strstr(f->fix, "hidepid=0"));
}
