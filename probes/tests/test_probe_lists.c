// SPDX-License-Identifier: Apache-2.0
/* Parameters that are looked up at each place, by parsers that the test replaces, which take their time. */
#include "probes/probe_lists.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kernel/uprobe_places.h"
#include "limits/limits.h"
#include "log/log.h"
#include "probes/parameter_source.h"
#include "sandbox/parsers.h"

#define USER 65432
#define MORE_THAN_HALF (PROBE_USER_TIME_NS / 2 + 1)

static uint64_t now_ns, takes_ns;
static int n_asked;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_parsers_ask(struct parsers *p, const struct parse_request *request, clockid_t *clock,
		       struct parse_result *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	*ret = (struct timespec){ (time_t)(now_ns / 1000000000), (long)(now_ns % 1000000000) };
	return 0;
}

/* Each function has the first argument by the name that is asked for. */
int __wrap_parsers_ask(struct parsers *p, const struct parse_request *request, clockid_t *clock,
		       struct parse_result *ret)
{
	(void)p;
	(void)clock;
	cr_assert_eq(request->kind, PARSE_PARAMETERS);
	*ret = (struct parse_result){ .parameters[0] = { .type = VALUE_U64 } };
	now_ns += takes_ns;
	n_asked++;
	return 0;
}

static void end(void)
{
	log_answer_to(NULL);
}

TestSuite(probe_lists, .fini = end);

static struct probe_lists lists;

static int make(uid_t user, size_t n, const char *values)
{
	uint64_t offsets[] = { 0x100, 0x200, 0x300 };
	struct uprobe_places places = { .fd = -1, .offsets = offsets, .n = n };
	struct arguments arguments;
	char why[ARGUMENTS_WHY_SIZE];
	int err;

	cr_assert_eq(arguments_parse(values, PROBE_CALL, &arguments, why), 0, "%s", why);
	n_asked = 0;
	err = probe_lists_make(NULL, user, &arguments, &places, &lists);
	free(places.cookies);
	return err;
}

static void check_made(uid_t user, size_t n, const char *values)
{
	cr_assert_eq(make(user, n, values), 0);
	cr_assert_eq(lists.n, 1, "they are equal");
	cr_assert(probe_lists_have_number(&lists, "x", false));
	probe_lists_done(&lists);
}

Test(probe_lists, of_a_user_may_not_take_too_long)
{
	_cleanup_free_ char *errors = NULL;
	size_t size;
	FILE *to = open_memstream(&errors, &size);

	log_answer_to(to);
	takes_ns = MORE_THAN_HALF;
	cr_assert_eq(make(USER, 3, "(x=size)"), -ETIME);
	cr_assert_eq(n_asked, 2);
	probe_lists_done(&lists);
	fclose(to);
	cr_assert(strstr(errors, "takes too long"), "%s", errors);
}

/* What has been found is not thrown away. */
Test(probe_lists, of_a_user_may_take_long_at_the_last_place)
{
	takes_ns = MORE_THAN_HALF;
	check_made(USER, 2, "(x=size)");
	takes_ns = PROBE_USER_TIME_NS / 2;
	check_made(USER, 3, "(x=size)");
	cr_assert_eq(n_asked, 3);
}

Test(probe_lists, of_this_program_may_take_long)
{
	takes_ns = 10 * PROBE_USER_TIME_NS;
	check_made(0, 3, "(x=size)");
	cr_assert_eq(n_asked, 3);
}

Test(probe_lists, by_position_need_no_look_up)
{
	check_made(USER, 3, "(x=arg1:u64)");
	cr_assert_eq(n_asked, 0);
}

/* Of two files: equal lists are one. */
Test(probe_lists, of_several_files_are_joined)
{
	uint64_t cookies[] = { 0, 0, 0 };
	struct uprobe_places places = { .fd = -1, .cookies = cookies, .n = 3 };
	struct probe_lists all = { 0 };
	static const char *const values[] = { "(x=arg1)", "(x=arg2)", "(x=arg1)" };
	static const uint64_t numbers[] = { 0, 1, 0 };

	for (size_t i = 0; i < 3; i++) {
		memset(cookies, 0, sizeof(cookies));
		cr_assert_eq(make(0, 1, values[i]), 0);
		cr_assert_eq(probe_lists_join(&all, &lists, &places), 0);
		probe_lists_done(&lists);
		for (size_t j = 0; j < 3; j++)
			cr_expect_eq(cookies[j], numbers[i]);
	}
	cr_expect_eq(all.n, 2);
	cr_expect(probe_lists_have_number(&all, "x", false));
	cr_expect(probe_lists_have_number(&all, "x", true));
	strcpy(all.forms[1].of[0].name, "y");
	cr_expect(!probe_lists_have_number(&all, "x", false));
	cr_expect(probe_lists_have_number(&all, "x", true) &&
		  probe_lists_have_number(&all, "y", true));
	cr_expect(!probe_lists_have_number(&all, "z", true));
	/* Without values, there is nothing to number. */
	places.cookies = NULL;
	cr_expect_eq(probe_lists_join(&all, &lists, &places), 0);
	cr_expect_eq(all.n, 2);
	probe_lists_done(&all);
}
