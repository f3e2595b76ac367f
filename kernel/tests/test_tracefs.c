// SPDX-License-Identifier: Apache-2.0
/* The kernel's tracepoints, looked up in a directory like its own. */
#include "kernel/tracefs.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "log/tests/said.h"

static char root[] = "/tmp/test_tracefs-XXXXXX";
static int events = -1;

static void make(const char *system, const char *name, unsigned int id)
{
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, system);
	(void)mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/%s", root, system, name);
	cr_assert_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/%s/%s/id", root, system, name);
	file = fopen(path, "w");
	cr_assert(file && fprintf(file, "%u\n", id) > 0 && fclose(file) == 0);
}

/* A file, as there are some beside the directories. */
static void make_file(const char *name)
{
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	file = fopen(path, "w");
	cr_assert(file && fputs("0\n", file) >= 0 && fclose(file) == 0);
}

static void begin(void)
{
	cr_assert(mkdtemp(root));
	make("sched", "sched_switch", 316);
	make("sched", "sched_waking", 318);
	make("sched", "sched_process_fork", 311);
	make("syscalls", "sys_enter_openat", 614);
	make("syscalls", "sys_exit_openat", 613);
	make_file("enable");
	make_file("sched/filter");
	events = open(root, O_RDONLY | O_DIRECTORY);
	cr_assert(events >= 0);
}

static int remove_file(const char *file, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(file);
}

static void end(void)
{
	close(events);
	nftw(root, remove_file, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(tracefs, .init = begin, .fini = end);

Test(tracefs, has_numbers_of_tracepoints)
{
	uint64_t id = 0;

	cr_assert_eq(tracefs_read_id(events, "sched", "sched_waking", &id), 0);
	cr_assert_eq(id, 318);
	cr_assert_eq(tracefs_read_id(events, "sched", "sched_woken", &id), -ENOENT);
	cr_assert_eq(tracefs_read_id(events, "irq", "sched_waking", &id), -ENOENT);
}

static void expect(const char *system, const char *name, const char *const *names, size_t n)
{
	_cleanup_(tracefs_list_done) struct tracefs_list list;

	cr_assert_eq(tracefs_find(events, system, name, &list), 0);
	cr_assert_eq(list.n, n, "%s:%s: %zu", system, name, list.n);
	for (size_t i = 0; i < n; i++)
		cr_assert_str_eq(list.names[i], names[i]);
}

Test(tracefs, finds_globs_in_order)
{
	static const char *const of_openat[] = { "syscalls:sys_enter_openat",
						 "syscalls:sys_exit_openat" };
	static const char *const of_sched[] = { "sched:sched_switch", "sched:sched_waking" };
	static const char *const all[] = { "sched:sched_process_fork", "sched:sched_switch",
					   "sched:sched_waking", "syscalls:sys_enter_openat",
					   "syscalls:sys_exit_openat" };

	expect("syscalls", "*_openat", of_openat, 2);
	expect("s*d", "sched_[sw]*", of_sched, 2);
	expect("*", "*", all, ARRAY_SIZE(all));
	expect("irq", "*", NULL, 0);
}

static const char *wanted_system, *wanted_name;

static void say_none(void)
{
	tracefs_say_none(events, wanted_system, wanted_name);
}

static void expect_said(const char *system, const char *name, const char *message)
{
	_cleanup_free_ char *text = NULL;

	wanted_system = system;
	wanted_name = name;
	text = said(say_none);
	cr_assert(strstr(text, message), "%s", text);
}

Test(tracefs, says_which_one_may_be_meant)
{
	expect_said("sched", "sched_swich",
		    "sched:sched_swich; did you mean sched:sched_switch?\n");
	/* It may be in another subsystem. */
	expect_said("task", "sched_process_fork", "; did you mean sched:sched_process_fork?\n");
	expect_said("net", "netif_rx", "the kernel has no tracepoint net:netif_rx\n");
}

Test(tracefs, has_names_that_lead_nowhere_else)
{
	static const char *const wrong[] = { "", ".", "..", "../..", "a/b", "a b", "sched_*" };

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		cr_assert(!tracefs_is_name(wrong[i]), "%s", wrong[i]);
	cr_assert(tracefs_is_name("sched_switch") && tracefs_is_name("x86-fpu"));
}
