// SPDX-License-Identifier: Apache-2.0
/* What a debug file can cost the file that names it. This program is also the helper. */
#include "binaries/table_job.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/debug_search.h"
#include "sandbox/helper.h"
#include "sandbox/tests/helper_test.h"

/* What the permissions of a debug file mean here. */
#define GOOD 0751
#define DEADLY 0752
#define BAD 0753
#define LATER_DEADLY 0754

static mode_t mode_of(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_mode & 07777 : 0;
}

int __real_parse_here(const struct parse_request *request, struct parse_result *ret);
int __wrap_parse_here(const struct parse_request *request, struct parse_result *ret);

/* Each file lacks unwind information, and any is its debug file. */
int __wrap_parse_here(const struct parse_request *request, struct parse_result *ret)
{
	mode_t debug = mode_of(request->other);
	int err;

	if (request->kind == PARSE_DEBUG) {
		*ret = (struct parse_result){ .is_so = true };
		return 0;
	}
	if (debug == DEADLY || (debug == LATER_DEADLY && request->kind == PARSE_IMAGE))
		_exit(1);
	if (debug == BAD)
		return -EBADMSG;
	err = __real_parse_here(request, ret);
	if (err == 0 && request->kind == PARSE_FACTS && request->other < 0) {
		ret->lacks_cfi = true;
		snprintf(ret->debug_link, sizeof(ret->debug_link), "debug");
	} else if (err == 0 && request->kind == PARSE_FACTS) {
		ret->facts.origin.unwind.size = 1;
	}
	return err;
}

static bool ends, ends_at_search;

int __real_debug_search(int fd, const struct debug_wanted *wanted,
			const struct debug_reader *reader);
int __wrap_debug_search(int fd, const struct debug_wanted *wanted,
			const struct debug_reader *reader);

int __wrap_debug_search(int fd, const struct debug_wanted *wanted,
			const struct debug_reader *reader)
{
	ends = ends_at_search;
	return __real_debug_search(fd, wanted, reader);
}

int main(int argc, char **argv)
{
	if (helper_is_one(argv[0]))
		return helper_main(argc, argv);
	return run_tests(argc, argv);
}

static char directory[] = "/tmp/dwarfprof-test-XXXXXX";
static char path[64], debug_path[64];
static struct parsers *parsers;

static void copy_self(const char *to, mode_t mode)
{
	_cleanup_close_ int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int fd = open(to, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0700);
	off_t size = lseek(self, 0, SEEK_END), from = 0;

	while (from < size)
		cr_assert(sendfile(fd, self, &from, (size_t)(size - from)) > 0);
	cr_assert_eq(fchmod(fd, mode), 0);
}

static void begin(void)
{
	cr_assert_not_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/file", directory);
	snprintf(debug_path, sizeof(debug_path), "%s/debug", directory);
	copy_self(path, 0755);
	cr_assert_eq(parsers_new(HELPER_SELF, &parsers), 0);
}

static void end(void)
{
	parsers_drop(parsers);
	unlink(path);
	unlink(debug_path);
	rmdir(directory);
}

TestSuite(table_job, .init = begin, .fini = end, .timeout = 120);

/* Of the file, with a debug file that does this. */
static struct table_job *read_file(mode_t debug)
{
	struct table_job *j = table_job_new(TABLE_JOB_READ);

	copy_self(debug_path, debug);
	cr_assert_not_null(j);
	j->path_fd = open(path, O_PATH | O_CLOEXEC);
	j->path = strdup(path);
	j->asker = getpid();
	j->parsers = parsers_hold(parsers);
	j->job.ends = &ends;
	table_job_run(j);
	return j;
}

/* Returns whether the debug file has something to say. */
static bool run(mode_t debug)
{
	struct table_job *j = read_file(debug);
	bool has_debug;

	cr_assert_eq(j->err, 0, "%d", j->err);
	cr_assert_gt(j->facts.n_segments, 0);
	j->step = TABLE_JOB_MAKE;
	table_job_run(j);
	cr_assert_eq(j->err, 0, "%d", j->err);
	cr_assert_gt(j->image.n_cells, 0);
	has_debug = j->origin.unwind.size == 1;
	table_job_free(j);
	return has_debug;
}

Test(table_job, uses_a_debug_file)
{
	cr_assert(run(GOOD));
}

Test(table_job, does_without_a_debug_file_that_is_bad)
{
	cr_assert(!run(DEADLY));
	cr_assert(!run(BAD));
}

Test(table_job, does_without_a_debug_file_that_has_no_table)
{
	cr_assert(!run(LATER_DEADLY));
}

Test(table_job, is_given_up_by_who_ends)
{
	struct table_job *j;

	ends = true;
	j = read_file(GOOD);
	cr_assert_eq(j->err, -ECANCELED);
	table_job_free(j);
}

/* It is not taken for one without a debug file. */
Test(table_job, is_given_up_while_a_debug_file_is_looked_for)
{
	struct table_job *j;

	ends_at_search = true;
	j = read_file(GOOD);
	cr_assert_eq(j->err, -ECANCELED, "%d", j->err);
	table_job_free(j);
}
