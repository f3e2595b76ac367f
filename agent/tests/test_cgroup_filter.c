// SPDX-License-Identifier: Apache-2.0
/* Which processes of a made /proc are in a cgroup, and when they are looked at again. */
#include "agent/cgroup_filter.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "agent/tests/made_proc.h"
#include "limits/limits.h"
#include "report/sample.h"

#define SECOND UINT64_C(1000000000)

static char proc[] = "/tmp/cgroup_filter.XXXXXX";
static struct cgroup_filter filter;

static int remove_one(const char *name, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(name);
}

static void set_up(void)
{
	cr_assert(mkdtemp(proc));
	cgroup_filter_init(&filter, proc, "/system.slice/a.service");
}

static void tear_down(void)
{
	cgroup_filter_done(&filter);
	nftw(proc, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(cgroup_filter, .init = set_up, .fini = tear_down);

static void move(int pid, const char *cgroup)
{
	made_proc_put_cgroup(proc, pid, "1:name=systemd:/other\n", cgroup);
}

static void end(int pid)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%d/cgroup", proc, pid);
	cr_assert_eq(remove(path), 0);
}

static bool has(int pid, const char *comm, uint64_t second)
{
	struct sample sample = { .pid = pid, .time_ns = second * SECOND };

	snprintf(sample.comm, sizeof(sample.comm), "%s", comm);
	return cgroup_filter_has(&filter, &sample);
}

Test(cgroup_filter, has_what_is_below)
{
	move(1, "/system.slice/a.service");
	move(2, "/system.slice/a.service/child");
	move(3, "/system.slice/a.service2");
	move(4, "/system.slice");
	cr_assert(has(1, "a", 1));
	cr_assert(has(2, "a", 1));
	cr_assert_not(has(3, "a", 1));
	cr_assert_not(has(4, "a", 1));
	cr_assert_not(has(5, "ended", 1));
}

Test(cgroup_filter, may_end_with_slashes)
{
	cgroup_filter_init(&filter, proc, "/system.slice//");
	move(1, "/system.slice/a.service");
	cr_assert(has(1, "a", 1));
}

Test(cgroup_filter, looks_again_when_another_program_is_executed)
{
	move(1, "/init.scope");
	cr_assert_not(has(1, "(a)", 1));
	move(1, "/system.slice/a.service");
	cr_assert_not(has(1, "(a)", 1));
	cr_assert(has(1, "a", 1));
}

Test(cgroup_filter, looks_again_after_a_while)
{
	move(1, "/init.scope");
	cr_assert_not(has(1, "a", 1));
	move(1, "/system.slice/a.service");
	cr_assert_not(has(1, "a", 10));
	cr_assert(has(1, "a", 11));
	move(1, "/init.scope");
	cr_assert(has(1, "a", 20));
	cr_assert_not(has(1, "a", 21));
}

Test(cgroup_filter, keeps_one_that_has_ended_where_it_was)
{
	move(1, "/system.slice/a.service");
	cr_assert(has(1, "a", 1));
	end(1);
	cr_assert(has(1, "a", 20));
	cr_assert(has(1, "b", 20));
}

Test(cgroup_filter, knows_no_more_than_it_has_room_for)
{
	move(1, "/system.slice/a.service");
	cr_assert(has(1, "a", 1));
	move(1, "/init.scope");
	for (int i = 2; i <= PROCESS_LABELS_MAX; i++)
		cr_assert_not(has(i, "a", 1));
	cr_assert(has(1, "a", 1));
	cr_assert_not(has(PROCESS_LABELS_MAX + 1, "a", 1));
	cr_assert_not(has(1, "a", 1));
}
