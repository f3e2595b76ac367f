// SPDX-License-Identifier: Apache-2.0
/* Where lines of this file have code, compared with what addr2line says of these addresses. */
#include "functions/line_places.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/as_it_is.h"
#include "base/cleanup.h"

int line_of_code(int n);

static volatile int sum;
static const uint32_t first_line = __LINE__ + 4;

AS_IT_IS int line_of_code(int n)
{
	sum += n;
	/* no code */
	sum -= 2 * n;
	return sum;
}

static struct line_places places;

static int find_in(const char *program, const char *text)
{
	_cleanup_close_ int fd = open(program, O_RDONLY | O_CLOEXEC);
	struct source_line line;

	cr_assert(source_line_parse(text, &line), "%s", text);
	line_places_done(&places);
	return line_places_find(fd, &line, &places);
}

static int find_line(const char *file, uint32_t line)
{
	char text[128];

	snprintf(text, sizeof(text), "%s:%u", file, line);
	return find_in("/proc/self/exe", text);
}

static void end(void)
{
	line_places_done(&places);
}

TestSuite(line_places, .fini = end);

static void expect_addr2line(uint64_t address, uint32_t line)
{
	char command[128], said[512] = "", wanted[64];
	FILE *pipe;

	snprintf(command, sizeof(command), "addr2line -e /proc/%d/exe 0x%lx", getpid(),
		 (unsigned long)address);
	snprintf(wanted, sizeof(wanted), "test_line_places.c:%u", line);
	pipe = popen(command, "r");
	cr_assert(pipe && fgets(said, sizeof(said), pipe));
	pclose(pipe);
	cr_expect(strstr(said, wanted), "%s", said);
}

Test(line_places, are_where_a_line_begins)
{
	line_of_code(1);
	for (uint32_t line = first_line; line <= first_line + 2; line += 2) {
		cr_assert_eq(find_line("test_line_places.c", line), 0);
		cr_assert_geq(places.n, 1);
		for (size_t i = 0; i < places.n; i++)
			expect_addr2line(places.addresses[i], line);
		cr_assert_eq(find_line("tests/test_line_places.c", line), 0);
	}
}

Test(line_places, are_not_everywhere)
{
	cr_assert_eq(find_line("test_line_places.c", first_line + 1), -ESRCH);
	cr_expect_eq(places.next, first_line + 2);
	cr_assert_eq(find_line("test_line_places.c", 100000), -ESRCH);
	cr_expect_eq(places.next, 0);
	cr_assert_eq(find_line("line_places.c.c", first_line), -ENOENT);
	cr_assert_eq(find_line("est_line_places.c", first_line), -ENOENT);
}

static void expect_discarded(const char *program)
{
	cr_assert(program);
	cr_assert_eq(find_in(program, "discarded.c:203"), 0);
	cr_expect_eq(places.n, 1);
	cr_expect_eq(find_in(program, "discarded.c:102"), -ESRCH);
	/* Lines in front of that may be at addresses that both functions have. */
	cr_expect(places.next >= 200 && places.next <= 203, "%u", places.next);
	cr_expect_eq(find_in(program, "discarded.c:104"), -ESRCH, "%#lx",
		     places.n > 0 ? (unsigned long)places.addresses[0] : 0);
}

/* The debug information says it in another way in each version of DWARF. */
Test(line_places, are_not_in_code_that_the_linker_discarded)
{
	expect_discarded(getenv("DISCARDED_4"));
	expect_discarded(getenv("DISCARDED_5"));
}

Test(line_places, are_counted_once)
{
	const char *library = getenv("MANY");

	cr_assert(library);
	cr_assert_eq(find_in(library, "many.c:1"), 0);
	cr_expect_eq(places.n, 1500);
	cr_expect_eq(find_in(library, "many.c:3"), -E2BIG);
}

Test(line_places, are_given_as_file_and_line)
{
	static const char *const others[] = { "main",  "ns::f",  "f:",
					      ":12",   "f.c:0",  "f.c:1x",
					      "a::12", "f.c:-1", "f.c:99999999999" };
	struct source_line line;

	cr_assert(source_line_parse("a/f.c:12", &line));
	cr_expect(line.n == 5 && line.line == 12);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		cr_expect(!source_line_parse(others[i], &line), "%s", others[i]);
}
