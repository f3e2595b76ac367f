// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/relabel_pattern.h"

static struct relabel_match match;

static char *expand(const char *regex, const char *text, const char *template)
{
	struct relabel_pattern pattern;
	char why[100], *expanded = NULL;
	size_t at;

	cr_assert_eq(relabel_pattern_init(&pattern, regex, &at, why, sizeof(why)), 0);
	if (relabel_pattern_match(&pattern, text, &match))
		expanded = relabel_template_expand(template, &match);
	relabel_pattern_done(&pattern);
	return expanded;
}

static void check(const char *regex, const char *text, const char *template, const char *expected)
{
	char *expanded = expand(regex, text, template);

	cr_assert(expanded ? expected && strcmp(expanded, expected) == 0 : !expected, "%s: %s",
		  regex, expanded);
	free(expanded);
}

TestSuite(relabel_pattern);

Test(relabel_pattern, groups)
{
	check("(a)|(b)", "b", "<$1$2$0>", "<bb>");
	check("(a*)(b)?", "aa", "$1-$2", "aa-");
	check("a|ab", "ab", "$0", "ab");
	check("a|b", "ab", "$0", NULL);
	check("", "", "x", "x");
	check(".*", "a\nb", "$0", "a\nb");
	check("(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)", "abcdefghijk", "$11${1}1", "ka1");
}

static void check_refused(const char *regex, size_t expected_at)
{
	struct relabel_pattern pattern;
	char why[100];
	size_t at;

	cr_assert_eq(relabel_pattern_init(&pattern, regex, &at, why, sizeof(why)), -EINVAL, "%s",
		     regex);
	cr_assert_eq(at, expected_at, "%s: %zu", regex, at);
}

/* It would match something else here than in Prometheus. */
Test(relabel_pattern, other_meanings)
{
	check_refused("a\\d", 1);
	check_refused("[\\w.-]+", 1);
	check_refused("x[^]\\]", 4);
	check_refused("\\<a", 0);
	check_refused("a*?", 1);
	check("\\.", ".", "$0", ".");
	check("[[:alnum:]_.-]+", "a_b.c", "$0", "a_b.c");
}

Test(relabel_pattern, too_many_groups)
{
	struct relabel_pattern pattern;
	char why[100];
	size_t at;

	cr_assert_eq(relabel_pattern_init(&pattern, "()()()()()()()()()()()()()()()", &at, why,
					  sizeof(why)),
		     -EINVAL);
}

/* A path is anyone's, and as long as this. */
Test(relabel_pattern, takes_no_time, .timeout = 60)
{
	char *text = malloc(4096);

	memset(text, '/', 4095);
	text[4095] = '\0';
	for (int i = 0; i < 10; i++)
		check("(.*)/(.*)/(.*)x", text, "$1", NULL);
	free(expand("(.*)/(.*)/(.*)", text, "$1"));
	free(text);
}
