// SPDX-License-Identifier: Apache-2.0
/* Probes whose calls label samples, as users write them. */
#include "profiler/label_probe.h"

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
	cr_assert(strstr(why, "there must be values"));
	cr_assert_eq(label_probe_check("label:f:g(x=arg1:u46)", why), -EINVAL);
	cr_assert(strstr(why, "there must be a type"));
}
