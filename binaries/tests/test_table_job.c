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

/* Of the file, with a debug file that does this. Returns whether that has something to say. */
static bool run(mode_t debug)
{
	struct table_job *j = table_job_new(TABLE_JOB_READ);
	bool has_debug;

	copy_self(debug_path, debug);
	cr_assert_not_null(j);
	j->path_fd = open(path, O_PATH | O_CLOEXEC);
	j->path = strdup(path);
	j->asker = getpid();
	j->parsers = parsers_hold(parsers);
	table_job_run(j);
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
