// SPDX-License-Identifier: Apache-2.0
/* What is kept and shown of a command line, and of URLs. */
#include <criterion/criterion.h>
#include <sys/mman.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "cli/masked_line.h"

TestSuite(masked_line);

Test(masked_line, values_of_headers)
{
	static const char *const words[][2] = {
		{ "dwarfprof", "dwarfprof" },
		{ "agent", "agent" },
		{ "--header", "--header" },
		{ "Authorization: Bearer s3cret", "Authorization: ***" },
		{ "--header=X-Key:s3cret", "--header=X-Key: ***" },
		{ "--head", "--head" },
		{ "s3cret", "***" },
		{ "--header", "--header" },
		{ "--header", "***" },
		{ "--heade=s3cret", "--heade=***" },
		{ "--label", "--label" },
		{ "a=b:c", "a=b:c" },
		{ "--headers=a:b", "--headers=a:b" },
		{ "--", "--" },
		{ "a:b", "a:b" },
	};
	size_t n = sizeof(words) / sizeof(words[0]);
	char *given[sizeof(words) / sizeof(words[0]) + 1] = { NULL };
	char **line;

	for (size_t i = 0; i < n; i++)
		given[i] = (char *)words[i][0];
	line = masked_line_new(given);
	for (size_t i = 0; i < n; i++)
		cr_expect_str_eq(line[i], words[i][1]);
	cr_assert_null(line[n]);
	masked_line_free(line);
}

Test(masked_line, urls)
{
	char otlp[] = "--otlp=http://h/p?api_key=s3cret", url[] = "https://me:s3cret@h",
	     other[] = "x?y", *given[] = { otlp, url, other, NULL };
	char **line = masked_line_new(given);

	cr_expect_str_eq(line[0], "--otlp=http://h/p?***");
	cr_expect_str_eq(line[1], "https://***@h");
	cr_expect_str_eq(line[2], "x?y");
	masked_line_free(line);
}

Test(masked_line, what_is_secret_in_a_url)
{
	static const char *const urls[][2] = {
		{ "http://h:4318/v1", "http://h:4318/v1" },
		{ "http://h/p?key=s3cret&a=b", "http://h/p?***" },
		{ "http://h/p#s3cret", "http://h/p?***" },
		{ "http://u:s3cret@h/p?s3cret", "http://***@h/p?***" },
		{ "http://u:s3/c@ret@h/p", "http://***@h/p" },
		{ "http://u:s3?cret@h/p", "http://***" },
		{ "u:s3cret@h", "***@h" },
		{ "h", "h" },
		{ "", "" },
	};

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		char *shown = secret_mask_url(urls[i][0]);

		cr_expect_str_eq(shown, urls[i][1]);
		free(shown);
	}
}

static int read_line(const char *text, char *ret, size_t size)
{
	_cleanup_close_ int file = memfd_create("secret", MFD_CLOEXEC);
	char path[32];

	cr_assert_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	return secret_read_line(path, ret, size);
}

Test(secret, is_the_first_line_of_a_file)
{
	char line[8] = "";

	cr_assert_eq(read_line("abc\nd\n", line, sizeof(line)), 0);
	cr_assert_str_eq(line, "abc");
	cr_assert_eq(read_line("abc\r\n", line, sizeof(line)), 0);
	cr_assert_str_eq(line, "abc");
	cr_assert_eq(read_line("0123456789\n", line, sizeof(line)), 0);
	cr_assert_str_eq(line, "0123456");
	cr_assert_eq(read_line("\nabc\n", line, sizeof(line)), -ENODATA);
	cr_assert_eq(read_line("", line, sizeof(line)), -ENODATA);
	cr_assert_eq(secret_read_line("/nowhere/at/all", line, sizeof(line)), -ENOENT);
}
