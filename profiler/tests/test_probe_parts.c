// SPDX-License-Identifier: Apache-2.0
/* Probes in their parts. */
#include "profiler/probe_parts.h"

#include <criterion/criterion.h>
#include <errno.h>

static struct probe_parts parts;
static char why[ARGUMENTS_WHY_SIZE];

static void end(void)
{
	probe_parts_done(&parts);
}

TestSuite(probe_parts, .fini = end);

Test(probe_parts, are_file_function_and_values)
{
	cr_assert_eq(probe_parts_split("libc.so.6:malloc(size=arg1)", PROBE_CALL, &parts, why), 0);
	cr_assert_str_eq(parts.path, "libc.so.6");
	cr_assert_str_eq(parts.name, "malloc");
	cr_assert_eq(parts.arguments.n, 1);
}

Test(probe_parts, need_no_values)
{
	cr_assert_eq(probe_parts_split("/bin/x:a::f(int)", PROBE_CALL, &parts, why), 0);
	cr_assert_str_eq(parts.path, "/bin/x");
	cr_assert_str_eq(parts.name, "a::f(int)");
	cr_assert_eq(parts.arguments.n, 0);
}

Test(probe_parts, of_static_probes_have_a_provider)
{
	cr_assert_eq(probe_parts_split("f:p:n(x=arg2)", PROBE_STATIC, &parts, why), 0);
	cr_assert_str_eq(parts.name, "p:n");
	probe_parts_done(&parts);
	cr_assert_eq(probe_parts_split("f:n", PROBE_STATIC, &parts, why), -EINVAL);
	cr_assert_str_eq(why, "there must be PATH:PROVIDER:NAME");
}

Test(probe_parts, may_be_missing)
{
	static const char *const wrong[] = { "", "f", ":f", "f:" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		cr_assert_eq(probe_parts_split(wrong[i], PROBE_CALL, &parts, why), -EINVAL);
		cr_assert_str_eq(why, "");
		probe_parts_done(&parts);
	}
}
