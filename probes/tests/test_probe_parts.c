// SPDX-License-Identifier: Apache-2.0
/* Probes in their parts. */
#include "probes/probe_parts.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

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
	cr_assert_str_eq(why, "expected PATH:PROVIDER:NAME");
}

Test(probe_parts, may_be_of_a_library)
{
	cr_assert_eq(probe_parts_split("lib:c:malloc(size=arg1)", PROBE_CALL, &parts, why), 0);
	cr_assert_str_eq(parts.path, "lib:c");
	cr_assert_str_eq(parts.name, "malloc");
	probe_parts_done(&parts);
	cr_assert_eq(probe_parts_split("lib:python3.11:python:line", PROBE_STATIC, &parts, why), 0);
	cr_assert_str_eq(parts.path, "lib:python3.11");
	cr_assert_str_eq(parts.name, "python:line");
	probe_parts_done(&parts);
	cr_assert_eq(probe_parts_split("lib:malloc", PROBE_CALL, &parts, why), -EINVAL);
	cr_expect(strstr(why, "./lib"), "%s", why);
	probe_parts_done(&parts);
	cr_assert_eq(probe_parts_split("./lib:malloc", PROBE_CALL, &parts, why), 0);
	cr_expect_str_eq(parts.path, "./lib");
}

Test(probe_parts, of_lines_have_names)
{
	static const char *const wrong[] = {
		"x:f.c:12(a=arg1)",       "x:f.c:12(a=b:bytes[arg2])",    "x:f.c:12(b, a=arg1)",
		"x:f.c:12(a=arg1->b)",    "x:f.c:12(a=b:bytes[arg2->n])", "x:f+4(arg1)",
		"x:f(int)+0x4(a=arg1->b)"
	};

	cr_assert_eq(probe_parts_split("x:f.c:12(b:u8, a=b->c:bytes[d])", PROBE_CALL, &parts, why),
		     0);
	cr_assert(parts.is_line && parts.arguments.n == 2);
	cr_assert_str_eq(parts.name, "f.c:12");
	probe_parts_done(&parts);
	cr_assert_eq(probe_parts_split("x:f.c:12(b:bytes[4])", PROBE_CALL, &parts, why), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		probe_parts_done(&parts);
		cr_assert_eq(probe_parts_split(wrong[i], PROBE_CALL, &parts, why), -EINVAL);
		cr_assert(strstr(why, "at a line or FUNCTION+N, give names"), "%s", why);
	}
	probe_parts_done(&parts);
	cr_assert_eq(probe_parts_split("x:f.c:12", PROBE_RETURN, &parts, why), -EINVAL);
	cr_assert_str_eq(why, "returns are of functions, not of a line");
	probe_parts_done(&parts);
	cr_assert_eq(probe_parts_split("x:f(a=arg1)", PROBE_CALL, &parts, why), 0);
	cr_assert(!parts.is_line);
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

Test(probe_parts, are_the_same_where_they_are_apart)
{
	cr_assert_eq(probe_parts_make("/a:b", "f(x=arg1)", PROBE_CALL, &parts, why), 0);
	cr_assert_str_eq(parts.path, "/a:b");
	cr_assert_str_eq(parts.name, "f");
	cr_assert_eq(parts.arguments.n, 1);
	probe_parts_done(&parts);
	cr_assert_eq(probe_parts_make("/a", "", PROBE_CALL, &parts, why), -EINVAL);
	cr_assert_eq(probe_parts_make("", "f", PROBE_CALL, &parts, why), -EINVAL);
	cr_assert_eq(probe_parts_split("f", PROBE_CALL, &parts, why), -EINVAL);
	cr_assert_str_eq(why, "");
}

Test(probe_parts, have_a_kind)
{
	enum probe_kind kind;

	cr_assert(probe_kind_find("uretprobe:x", 9, &kind));
	cr_assert_eq(kind, PROBE_RETURN);
	cr_assert(probe_kind_find("usdt", 4, &kind));
	cr_assert_eq(kind, PROBE_STATIC);
	cr_assert(probe_kind_find("label", 5, &kind));
	cr_assert_eq(kind, PROBE_CALL);
	cr_assert(!probe_kind_find("uprobes", 7, &kind));
	cr_assert(!probe_kind_find("uprobes", 0, &kind));
}

Test(probe_parts, of_instructions_have_names)
{
	cr_assert_eq(probe_parts_split("x:f(int)+0x4(a=b)", PROBE_CALL, &parts, why), 0);
	cr_assert_str_eq(parts.name, "f(int)+0x4");
	cr_assert(parts.has_offset && parts.arguments.n == 1);
	probe_parts_done(&parts);
	cr_assert_eq(probe_parts_split("x:f+0(arg1)", PROBE_CALL, &parts, why), 0, "its begin");
	probe_parts_done(&parts);
	cr_assert_eq(probe_parts_split("x:A::operator+(arg1)", PROBE_CALL, &parts, why), 0);
	cr_assert(!parts.has_offset);
	probe_parts_done(&parts);
	cr_assert_eq(probe_parts_split("x:f+4", PROBE_RETURN, &parts, why), -EINVAL);
	cr_assert_str_eq(why, "returns are of functions, not of FUNCTION+N");
}
