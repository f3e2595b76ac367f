// SPDX-License-Identifier: Apache-2.0
/* Filters in user space: how options are read, and which processes in /proc pass. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "kernel/cpus.h"
#include "kernel/filter.h"

static struct filter filter;
static char why[FILTER_WHY_SIZE];

static void begin(void)
{
	filter_init(&filter);
}

static void end(void)
{
	filter_done(&filter);
}

TestSuite(filter, .init = begin, .fini = end);

Test(filter, lets_everything_pass_at_first)
{
	cr_assert(!filter_is_set(&filter) && !filter_by_process(&filter));
	cr_assert(filter_has_cpu(&filter, 0) && filter_has_cpu(&filter, DP_MAX_CPUS + 1));
	cr_assert(filter_matches_comm(&filter, "any name\0\0\0\0\0\0\0"));
	cr_assert(filter_matches_process(&filter, getpid()));
}

Test(filter, has_the_cpus_that_are_given)
{
	char online[CPUS_LIST_SIZE], list[64];
	unsigned int last = cpus_read(online) - 1;

	snprintf(list, sizeof(list), "%u,%u-%u", last, last, last);
	cr_assert(filter_set_cpus(&filter, list, why) == 0, "%s", why);
	cr_assert(filter_is_set(&filter) && !filter_by_process(&filter));
	for (unsigned int cpu = 0; cpu <= DP_MAX_CPUS; cpu++)
		cr_assert(filter_has_cpu(&filter, cpu) == (cpu == last), "%u", cpu);
	cr_assert_str_eq(filter.cpus, list);
	/* More calls add CPUs. */
	snprintf(list, sizeof(list), "%c", online[0]);
	cr_assert(filter_set_cpus(&filter, list, why) == 0, "%s", why);
	cr_assert(filter_has_cpu(&filter, (unsigned int)(online[0] - '0')));
	cr_assert(filter_has_cpu(&filter, last));
}

Test(filter, refuses_what_is_no_list_of_cpus)
{
	static const char *const wrong[] = { "",   ",",    "a",    "0-",    "-0", "1-0",
					     "0,", "0,,0", "0 ,0", "0-0-0", " 0" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_assert(filter_set_cpus(&filter, wrong[i], why) == -EINVAL, "%s", wrong[i]);
	cr_assert(filter_set_cpus(&filter, "8191", why) == -ENODEV);
	cr_assert(filter_set_cpus(&filter, "0-18446744073709551615", why) == -ENODEV);
	cr_assert(!filter.cpus);
}

Test(filter, knows_users_by_name_and_number)
{
	cr_assert(filter_set_user(&filter, "root", why) == 0 && filter.uid == 0);
	cr_assert(filter_set_user(&filter, "4711", why) == 0 && filter.uid == 4711);
	cr_assert(filter_set_user(&filter, "no such user", why) == -ENOENT);
	cr_assert(filter_set_user(&filter, "4294967295", why) == -ENOENT, "(uid_t)-1 is none");
	cr_assert(filter_set_user(&filter, "-1", why) == -ENOENT);
	cr_assert_str_eq(filter.user, "4711", "what was refused changes nothing");
}

static char told[DP_COMM_SIZE];
static int n_told;

static void tell(void *arg, const char comm[DP_COMM_SIZE])
{
	memcpy(told, comm, sizeof(told));
	n_told++;
}

Test(filter, compares_names_and_tells_which_do_not_match)
{
	/* A name that fills the array has no terminating zero. */
	static const char full[DP_COMM_SIZE] = { 'p', 'g', 'a', 'b', 'c', 'd', 'e', 'f',
						 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n' };
	char other[DP_COMM_SIZE] = "xpg\0rest";

	filter.tell = tell;
	cr_assert(filter_set_comm(&filter, "^pg(.*n)?$", why) == 0);
	cr_assert(filter_matches_comm(&filter, "pg\0\0\0\0\0\0\0\0\0\0\0\0\0"));
	cr_assert(filter_matches_comm(&filter, full));
	cr_assert(n_told == 0);
	cr_assert(!filter_matches_comm(&filter, other));
	cr_assert(n_told == 1 && memcmp(told, other, sizeof(told)) == 0, "all of its bytes");
	cr_assert(filter_set_comm(&filter, "a(b", why) == -EINVAL);
	cr_assert(strstr(why, "'a(b'"));
	cr_assert(!filter.comm);
}

Test(filter, looks_at_processes)
{
	char user[16];

	prctl(PR_SET_NAME, "looked at");
	cr_assert(filter_set_comm(&filter, "^looked at$", why) == 0);
	cr_assert(filter_matches_process(&filter, getpid()));
	snprintf(user, sizeof(user), "%u", geteuid());
	cr_assert(filter_set_user(&filter, user, why) == 0);
	cr_assert(filter_matches_process(&filter, getpid()));
	snprintf(user, sizeof(user), "%u", geteuid() + 1);
	cr_assert(filter_set_user(&filter, user, why) == 0);
	cr_assert(!filter_matches_process(&filter, getpid()));
	cr_assert(filter_matches_process(&filter, INT32_MAX), "it is gone");
	prctl(PR_SET_NAME, "another");
	cr_assert(filter_set_user(&filter, "0", why) == 0);
	cr_assert(!filter_matches_process(&filter, getpid()));
}

Test(filter, is_described)
{
	char text[64] = "processes";

	cr_assert(filter_set_user(&filter, "root", why) == 0);
	cr_assert(filter_set_comm(&filter, "^pg", why) == 0);
	filter_describe(&filter, text, sizeof(text));
	cr_assert_str_eq(text, "processes of user root named ^pg");
	/* A condition that does not fit is left out. */
	text[0] = '\0';
	filter_describe(&filter, text, 10);
	cr_assert_str_eq(text, " of user ");
}
