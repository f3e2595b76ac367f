// SPDX-License-Identifier: Apache-2.0
/* Probes whose calls label samples, as users write them. */
#include "probes/label_probe.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static char why[ARGUMENTS_WHY_SIZE];

Test(label_probe, is_a_function_with_values)
{
	cr_assert_eq(label_probe_check("label:/bin/f:g(x=arg1)", why), 0);
	cr_assert_eq(label_probe_check("label: f:g(x=arg1:str, size)", why), 0);
	cr_assert_eq(label_probe_check("label:f:a::g(int)(x=arg1)", why), 0);
}

Test(label_probe, is_nothing_else)
{
	cr_assert_eq(label_probe_check("f:g(x=arg1)", why), -EINVAL);
	cr_assert(strstr(why, "label:PATH:NAME(VALUES)"));
	cr_assert_eq(label_probe_check("label:g(x=arg1)", why), -EINVAL);
	cr_assert(strstr(why, "label:PATH:NAME(VALUES)"), "%s", why);
	cr_assert_eq(label_probe_check("label:f:g", why), -EINVAL);
	cr_assert(strstr(why, "values are missing"));
	cr_assert_eq(label_probe_check("label:./usdt:g(x=arg1)", why), 0);
	cr_assert_eq(label_probe_check("label:usdt:f:p:g(x=arg1)", why), -EINVAL);
	cr_expect(strstr(why, "./usdt"), "%s", why);
	cr_assert(strstr(why, "a USDT probe has no frame"), "%s", why);
	cr_assert_eq(label_probe_check("span: usdt:f:p:g min=1ms", why), -EINVAL);
	cr_assert(strstr(why, "a USDT probe has no frame"), "%s", why);
	cr_assert_eq(label_probe_check("label:usdt.so:g(x=arg1)", why), 0);
	cr_assert_eq(label_probe_check("label:f:g(x=arg1:u46)", why), -EINVAL);
	cr_assert(strstr(why, "expected a type"));
}

Test(label_probe, may_be_one_of_several)
{
	const char *one = "label:f:g(x=arg1,y=arg2)";

	cr_assert_eq(label_probe_check_both(one, "label:f:h(z=arg1)", why), 0);
	cr_assert_eq(label_probe_check_both(one, "label:f:h(z=arg1,y=arg1:str)", why), -EINVAL);
	cr_assert(strstr(why, "another --probe has a value y"), "%s", why);
	cr_assert_eq(label_probe_check_both(one, "span:f:h(z=arg1)", why), -EINVAL);
	cr_assert(strstr(why, "goes with no other"), "%s", why);
	cr_assert_eq(label_probe_check_both("span:f:h", one, why), -EINVAL);
}

static uint64_t min_of(const char *text)
{
	uint64_t min_ns;

	cr_assert_eq(label_probe_check(text, why), 0, "%s: %s", text, why);
	cr_assert(label_probe_is_span(text, &min_ns), "%s", text);
	return min_ns;
}

Test(label_probe, may_be_for_calls_of_some_time)
{
	cr_assert_eq(min_of("span:/bin/f:g"), 0);
	cr_assert_eq(min_of("span: f:g min=5ms"), 5000000);
	cr_assert_eq(min_of("span:f:g(x=arg1) min=100us"), 100000);
	cr_assert_eq(min_of("span:f:a::g(int)(x=arg1, min=arg2:u32) min=1.5s"), 1500000000);
	cr_assert_eq(min_of("span:f:g(x=arg1, min=arg2:u32)"), 0);
}

static void expect_wrong(const char *text, const char *said)
{
	uint64_t min_ns;

	cr_assert_eq(label_probe_check(text, why), -EINVAL, "%s", text);
	cr_assert(strstr(why, said), "%s: %s", text, why);
	cr_assert(!label_probe_is_span(text, &min_ns));
}

Test(label_probe, takes_no_other_times)
{
	expect_wrong("span:f:g min=", "min= takes a time");
	expect_wrong("span:f:g min=5", "min= takes a time");
	expect_wrong("span:f:g min=ms", "min= takes a time");
	expect_wrong("span:f:g min=5m", "min= takes a time");
	expect_wrong("span:f:g min=1.2.3s", "min= takes a time");
	expect_wrong("span:f:g min=0x5ms", "min= takes a time");
	expect_wrong("span:f:g min=9999999999999s", "min= takes a time");
	expect_wrong("span:f:g(x=arg1) min=5ms 7", "min= takes a time");
	expect_wrong("label:f:g(x=arg1) min=5ms", "");
	expect_wrong("span:f:a.c:12 min=5ms", "calls are of functions");
	expect_wrong("span:f:g(span=arg1)", "the name span is reserved");
	expect_wrong("span:f", "span:PATH:NAME(VALUES) min=TIME");
}

Test(label_probe, of_labels_has_no_time)
{
	uint64_t min_ns = 1;

	cr_assert(!label_probe_is_span(NULL, &min_ns));
	cr_assert(!label_probe_is_span("label:f:g(x=arg1)", &min_ns));
	cr_assert_eq(min_ns, 0);
}
