// SPDX-License-Identifier: Apache-2.0
/* Messages about missing permissions and features: what is needed, and what to try. */
#include "kernel/permission.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "log/tests/said.h"

static void begin(void)
{
	setlocale(LC_ALL, "C");
}

TestSuite(permission, .init = begin);

static int error;
static unsigned int rate;

static void explain_perf(void)
{
	permission_explain_perf("the event", error, rate);
}

static void explain_uprobe(void)
{
	permission_explain_uprobe(error);
}

static void explain_process(void)
{
	permission_explain_process(4711, error);
}

static void explain_memory(void)
{
	permission_explain_memory(4711, error);
}

static void explain_file(void)
{
	permission_explain_file(4711, "/usr/lib/libsecret.so");
}

/* The message begins with `first`, contains `then` and not `never`, each of which may be NULL. */
static void expect(void (*explain)(void), int err, const char *first, const char *then,
		   const char *never)
{
	char *text;

	error = -err;
	text = said(explain);
	cr_expect(strncmp(text, first, strlen(first)) == 0, "%s: %s", strerror(err), text);
	cr_expect(!then || strstr(text, then), "%s: %s", strerror(err), text);
	cr_expect(!never || !strstr(text, never), "%s: %s", strerror(err), text);
	free(text);
}

/* perf_event_open(2): each of its errors has an explanation, or is reported as it is. */
Test(permission, explains_events)
{
	static const struct {
		int err;
		const char *then, *never;
	} cases[] = {
		{ EMFILE, "try:  ulimit -n", "report" },
		{ ENFILE, "fs.file-max", "report" },
		{ ENOMEM, NULL, "report" },
		{ EBUSY, "another profiler", "report" },
		{ ENOSYS, "CONFIG_PERF_EVENTS", "report" },
		{ EOPNOTSUPP, "CONFIG_PERF_EVENTS", "report" },
		{ E2BIG, "please report this to " DP_BUG_REPORT ", with", "need:" },
		{ EACCES, "kernel.perf_event_paranoid is", "report" },
		{ EPERM, "kernel.perf_event_paranoid is", "report" },
	};
	char first[128];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(first, sizeof(first), "dwarfprof: cannot open the event: %s\n",
			 strerror(cases[i].err));
		expect(explain_perf, cases[i].err, first, cases[i].then, cases[i].never);
	}
	/* A rate that is too high is one of many causes. */
	rate = 1000000000;
	expect(explain_perf, EINVAL, "dwarfprof: cannot open", "try:  a lower -F", "report");
	rate = 1;
	expect(explain_perf, EINVAL, "dwarfprof: cannot open", "please report", "-F");
}

Test(permission, names_the_capability_where_one_is_missing)
{
	for (int i = 0; i < 2; i++) {
		int err = i ? EPERM : EACCES;

		expect(explain_uprobe, err, "dwarfprof: cannot set the uprobe",
		       "need: CAP_SYS_ADMIN; missing:", NULL);
		expect(explain_process, err, "dwarfprof: cannot read the mappings of process 4711",
		       "need: CAP_SYS_PTRACE; missing:", NULL);
	}
	expect(explain_memory, EPERM, "dwarfprof: cannot read the memory of process 4711",
	       "need: CAP_SYS_PTRACE; missing:", NULL);
	expect(explain_file, EACCES,
	       "dwarfprof: warning: process 4711: /usr/lib/libsecret.so may not be read",
	       "need: CAP_SYS_PTRACE CAP_DAC_READ_SEARCH CAP_CHECKPOINT_RESTORE; missing:", NULL);
}

/* No capability helps here. */
Test(permission, asks_for_none_else)
{
	expect(explain_uprobe, ENOENT, "dwarfprof: cannot set the uprobe: No such", NULL, "need:");
	expect(explain_process, ESRCH, "dwarfprof: there is no process 4711\n", NULL, "need:");
	expect(explain_process, ENOMEM, "dwarfprof: cannot read the mappings", NULL, "need:");
	expect(explain_memory, EFAULT, "dwarfprof: cannot read the memory", NULL, "need:");
}
