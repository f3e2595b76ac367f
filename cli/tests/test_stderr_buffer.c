// SPDX-License-Identifier: Apache-2.0
/* What is written to stderr while it is kept, of which a pipe gets the rest afterwards. */
#include "cli/stderr_buffer.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct stderr_buffer kept;
static char text[1 << 20];
static int saved, file;

static void begin(void)
{
	saved = dup(STDERR_FILENO);
	file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	cr_assert(saved >= 0 && file >= 0);
	dup2(file, STDERR_FILENO);
	stderr_buffer_begin(&kept);
}

/* What has gone to stderr so far. */
static const char *written(void)
{
	ssize_t n = pread(file, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void end(void)
{
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(file);
}

TestSuite(stderr_buffer, .init = begin, .fini = end);

static void put_lines(int first, int n)
{
	for (int i = first; i < first + n; i++)
		dprintf(STDERR_FILENO, "line %07d\n", i); /* 13 bytes */
}

Test(stderr_buffer, is_written_at_the_end)
{
	put_lines(1, 2);
	stderr_buffer_trim(&kept);
	cr_expect_str_empty(written());
	stderr_buffer_end(&kept);
	cr_expect_str_eq(written(), "line 0000001\nline 0000002\n");
	put_lines(3, 1);
	cr_expect_str_eq(written(), "line 0000001\nline 0000002\nline 0000003\n");
	stderr_buffer_trim(&kept);
	stderr_buffer_end(&kept); /* again */
	cr_expect_str_eq(written(), "line 0000001\nline 0000002\nline 0000003\n");
}

/* Of many lines, the last ones, and none is counted twice or in part. */
Test(stderr_buffer, is_bounded)
{
	struct stat status;
	int n_dropped, first;

	for (int i = 0; i < 100; i++) {
		put_lines(i * 1000, 1000);
		stderr_buffer_trim(&kept);
		cr_assert(fstat(kept.buffer_fd, &status) == 0);
		cr_assert_leq(status.st_blocks * 512, 256 * 1024);
	}
	stderr_buffer_end(&kept);
	cr_assert_eq(sscanf(written(), "dwarfprof: %d earlier lines are left out\nline %d\n",
			    &n_dropped, &first),
		     2, "%.100s", text);
	cr_expect_eq(n_dropped, first);
	cr_expect_gt(first, 89000);
	cr_expect_lt(first, 96000);
	cr_expect_eq(strlen(strchr(text, '\n') + 1), (size_t)(100000 - first) * 13);
	cr_expect(strstr(text, "line 0099999\n"));
}

Test(stderr_buffer, survives_a_crash)
{
	put_lines(1, 2);
	stderr_buffer_rescue(&kept);
	put_lines(3, 1);
	cr_expect_str_eq(written(), "line 0000001\nline 0000002\nline 0000003\n");
}
