// SPDX-License-Identifier: Apache-2.0
/* Names that are shortened, and lines that go on in the next one. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "text/terminal.h"

TestSuite(terminal);

static void expect_short(const char *name, size_t columns, const char *expected)
{
	char copy[64];

	snprintf(copy, sizeof(copy), "%s", name);
	terminal_shorten(copy, columns);
	cr_assert_str_eq(copy, expected);
}

Test(terminal, shortens_names_in_the_middle)
{
	expect_short("abcdefghij", 10, "abcdefghij");
	expect_short("abcdefghij", 9, "abc...hij");
	expect_short("abcdefghij", 8, "ab...hij");
	expect_short("abcdefghij", 4, "...j");
	expect_short("abcdefghij", 3, "abcdefghij");
	/* Characters, not bytes. */
	expect_short("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4", 7,
		     "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4");
	expect_short("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6", 7,
		     "\xc3\xa4\xc3\xb6...\xc3\xa4\xc3\xb6");
}

static void expect_lines(const char *text, size_t columns, const char *expected)
{
	char *written = NULL;
	size_t size;
	FILE *to = open_memstream(&written, &size);

	terminal_write(text, columns, to);
	fclose(to);
	cr_assert_str_eq(written, expected);
	free(written);
}

Test(terminal, goes_on_below_the_last_column, .timeout = 10)
{
	char line[128], lines[128];

	expect_lines("ten letter\nnone\n\n", 10, "ten letter\nnone\n\n");
	expect_lines("one two three four", 10, "one two\n  three\n  four\n");
	expect_lines("  a  bbbbbbbbbb cccccccccc dddddddddd", 28,
		     "  a  bbbbbbbbbb cccccccccc\n     dddddddddd\n");
	/* Too little room there. */
	expect_lines("  aaaaaaaaaa  bbbbbbbbbb cccccccccc", 28,
		     "  aaaaaaaaaa  bbbbbbbbbb\n    cccccccccc\n");
	/* A word that is too long alone, and blanks at the end. */
	expect_lines("aaaaabbbbbcc", 10, "aaaaabbbbb\n  cc\n");
	expect_lines("aaaaa bbb     ", 10, "aaaaa bbb\n");
	/* Blanks that leave no room below them. */
	snprintf(line, sizeof(line), "%58sone two three", "");
	snprintf(lines, sizeof(lines), "%58son\ne two three\n", "");
	expect_lines(line, 60, lines);
	expect_lines("a b", 0, "a\nb\n");
	/* Colours take no room. */
	expect_lines("\x1b[1mone two\x1b[0m", 7, "\x1b[1mone two\x1b[0m\n");
}
