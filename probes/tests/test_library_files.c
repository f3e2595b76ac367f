// SPDX-License-Identifier: Apache-2.0
/* The files of a library, in processes that the test makes up, with files that it makes. */
#include "probes/library_files.h"
#include "process/process_table.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "process/target.h"
#include "sandbox/parsers.h"

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

static void expect_others(void)
{
	library_files_done(&files);
	map(1, 5, "/other/libx.so.1", make_file(), TIME_NEVER);
	cr_expect_eq(library_files_find(&table, &target, "lib:x", &files), 0);
	cr_assert_eq(files.n, 1);
	cr_expect_str_eq(files.of[0].path, "/other/libx.so.1");
}

Test(library_files, may_be_read_later)
{
	map(0, 0, "/lib/libx.so.1", -1, TIME_NEVER);
	binaries[0].is_loading = true;
	cr_expect_eq(library_files_find(&table, &target, "lib:x", &files), -EAGAIN);
	expect_others();
}

/* It has no binary. */
Test(library_files, may_be_unreadable)
{
	char directory[] = "/tmp/library_files.XXXXXX", path[64];
	struct mapping mapping = { .died = TIME_NEVER };
	void *at;
	int fd;

	if (geteuid() != 0)
		cr_skip_test("only root sees what is mapped where");
	cr_assert(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/libx.so.1", directory);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	cr_assert(fd >= 0 && ftruncate(fd, 0x1000) == 0);
	at = mmap(NULL, 0x1000, PROT_READ, MAP_PRIVATE, fd, 0);
	cr_assert(at != MAP_FAILED);
	processes[0].pid = getpid();
	mapping.start = (uint64_t)(uintptr_t)at;
	mapping.end = mapping.start + 0x1000;
	cr_assert_eq(history_add(&processes[0].mappings, &mapping), 0);
	cr_expect_eq(library_files_find(&table, &target, "lib:x", &files), -ENOENT, "it is none");
	mapping.is_unread = true;
	cr_assert_eq(history_add(&processes[1].mappings, &mapping), 0);
	processes[1].pid = getpid();
	cr_expect_eq(library_files_find(&table, &target, "lib:x", &files), -EACCES);
	expect_others();
	unlink(path);
	rmdir(directory);
}

static uid_t asked_for;

int __wrap_parsers_ask(struct parsers *p, const struct parse_request *request, clockid_t *clock,
		       struct parse_result *ret);

int __wrap_parsers_ask(struct parsers *p, const struct parse_request *request, clockid_t *clock,
		       struct parse_result *ret)
{
	asked_for = request->user;
	*ret = (struct parse_result){ 0 };
	return 0;
}

/* A container's may be made to take long. */
Test(library_files, are_read_for_their_users)
{
	const struct uprobe_reader base = { 0 };
	const struct library_file file = { .user = 7 };
	const struct library_reader of_file = { .base = &base, .file = &file };
	const struct uprobe_reader reader = library_reader_of(&of_file);
	const struct function_query query = { 0 };
	struct function_list list;

	cr_expect_eq(reader.user, 7);
	cr_assert_eq(reader.list(reader.arg, -1, &query, &list), 0);
	cr_expect_eq(asked_for, 7);
}

Test(library_files, are_the_dynamic_linkers_otherwise)
{
	static char *command[] = { (char *)"true", NULL };
	const struct target all = { .all = true }, launched = { .command = command };

	map(0, 0, "/lib/libx.so.1", make_file(), TIME_NEVER);
	expect_none(&table, &all, "lib:x");
	expect_none(&table, &launched, "lib:x");
	expect_none(NULL, &target, "lib:x");
	table.no_binaries = true;
	expect_none(&table, &target, "lib:x");
	table.no_binaries = false;
	expect_none(&table, &target, "/lib/libx.so.1");
}
