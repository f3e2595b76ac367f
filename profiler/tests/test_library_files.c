// SPDX-License-Identifier: Apache-2.0
/* The files of a library, in processes that the test makes up, with files that it makes. */
#include "profiler/library_files.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "process/process.h"
#include "process/target.h"

#define N (LIBRARY_MAX_FILES + 1)

static struct process_table table;
static struct process processes[2] = { { .pid = 10 }, { .pid = 11 } };
static struct binary binaries[N];
static struct module modules[N];
static struct library_files files;
static const struct target target = { .n_pids = 2 };

static void begin(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(processes); i++) {
		struct process *p = &processes[i];

		HASH_ADD(hh, table.processes, pid, sizeof(p->pid), p);
	}
}

static void end(void)
{
	library_files_done(&files);
}

TestSuite(library_files, .init = begin, .fini = end);

static int make_file(void)
{
	char path[] = "/tmp/library_files.XXXXXX";
	int fd = mkstemp(path);

	cr_assert(fd >= 0 && unlink(path) == 0);
	return fd;
}

/* fd: of the file, or -1. */
static void map(size_t process, size_t i, const char *path, int fd, uint64_t died)
{
	const struct mapping mapping = { .start = 0x1000 * (i + 1),
					 .end = 0x1000 * (i + 2),
					 .binary = &binaries[i],
					 .died = died };

	modules[i] = (struct module){ .path = (char *)path, .fd = fd, .user = 7 };
	binaries[i].module = &modules[i];
	cr_assert_eq(history_add(&processes[process].mappings, &mapping), 0);
}

Test(library_files, are_of_all_processes_each_once)
{
	int first = make_file(), second = make_file();
	struct stat st, found;

	map(0, 0, "/lib/libx.so.1", first, TIME_NEVER);
	map(0, 1, "/lib/libxy.so.1", make_file(), TIME_NEVER);
	map(1, 2, "/lib/libx.so.1", second, TIME_NEVER);
	map(1, 3, "/other/libx.so.1", first, TIME_NEVER);
	map(1, 4, "/old/libx.so.1", make_file(), 5);
	cr_assert_eq(library_files_find(&table, &target, "lib:x", &files), 0);
	cr_assert_eq(files.n, 2);
	cr_expect_str_eq(files.of[0].path, "/lib/libx.so.1");
	cr_expect_eq(files.of[1].user, 7);
	cr_assert(fstat(second, &st) == 0 && fstat(files.of[1].fd, &found) == 0);
	cr_expect_eq(st.st_ino, found.st_ino);
	cr_expect_neq(files.of[1].fd, second, "it has its own");
}

Test(library_files, may_be_missing)
{
	map(0, 0, "/lib/libxy.so.1", make_file(), TIME_NEVER);
	cr_expect_eq(library_files_find(&table, &target, "lib:x", &files), -ENOENT);
}

Test(library_files, may_be_too_many)
{
	for (size_t i = 0; i < N; i++)
		map(0, i, "/lib/libx.so.1", make_file(), TIME_NEVER);
	cr_expect_eq(library_files_find(&table, &target, "lib:x", &files), -E2BIG);
	cr_expect_eq(files.n, LIBRARY_MAX_FILES);
}

static void expect_none(const struct process_table *from, const struct target *of, const char *path)
{
	cr_expect_eq(library_files_find(from, of, path, &files), 0);
	cr_expect_eq(files.n, 0, "%s", path);
}

/* More files than may be open. */
Test(library_files, may_be_closed)
{
	map(0, 0, "/lib/libx.so.1", -1, TIME_NEVER);
	cr_expect_eq(library_files_find(&table, &target, "lib:x", &files), -EMFILE);
}

Test(library_files, are_the_dynamic_linkers_otherwise)
{
	static char *command[] = { (char *)"true", NULL };
	const struct target all = { .all = true }, launched = { .command = command };

	map(0, 0, "/lib/libx.so.1", make_file(), TIME_NEVER);
	expect_none(&table, &all, "lib:x");
	expect_none(&table, &launched, "lib:x");
	expect_none(NULL, &target, "lib:x");
	expect_none(&table, &target, "/lib/libx.so.1");
}
