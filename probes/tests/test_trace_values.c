// SPDX-License-Identifier: Apache-2.0
/* Where the kernel reads the values of its events. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "probes/trace_values.h"

static struct trace_field fields[] = {
	{ "pid", TRACE_FIELD_NUMBER, 24, 4, true },
	{ "flags", TRACE_FIELD_NUMBER, 32, 8, false },
	{ "file", TRACE_FIELD_POINTER, 40, 8, false },
	{ "comm", TRACE_FIELD_TEXT, 8, 16, false },
	{ "name", TRACE_FIELD_LOCATED, 48, 4, false },
	{ "mac", TRACE_FIELD_OTHER, 52, 6, false },
	{ "seventh", TRACE_FIELD_NOWHERE, 48, 8, false },
};
static struct trace_record record = { .fields = fields, .n = ARRAY_SIZE(fields) };

static struct arguments arguments;
static char why[ARGUMENTS_WHY_SIZE];

static int place_in(const char *list, const struct trace_record *in)
{
	cr_assert_eq(arguments_parse(list, PROBE_KERNEL, &arguments, why), 0, "%s: %s", list, why);
	return trace_values_place(&arguments, in, why);
}

static const struct argument *place(const char *list)
{
	cr_assert_eq(place_in(list, &record), 0, "%s: %s", list, why);
	return arguments.of;
}

static void expect_error(const char *list, const char *message)
{
	cr_assert_eq(place_in(list, &record), -EINVAL, "%s", list);
	cr_assert(strstr(why, message), "%s: %s", list, why);
}

static void expect(const struct argument *a, enum value_type type, int32_t offset, uint8_t size)
{
	cr_assert_eq(a->form.type, type, "%s: %d", a->form.name, a->form.type);
	cr_assert(a->how.base == DP_BASE_RECORD && a->how.n_derefs == 1 && !a->how.is_text);
	cr_assert(a->how.derefs[0] == offset && a->how.size == size && a->how.add == 0);
}

Test(trace_values, are_numbers_as_wide_as_fields)
{
	const struct argument *a = place("(pid, x=flags, flags:s32, pid:u64, pid:x64, file)");

	expect(&a[0], VALUE_S32, 24, 4);
	cr_assert_str_eq(a[0].form.name, "pid");
	expect(&a[1], VALUE_U64, 32, 8);
	cr_assert_str_eq(a[1].form.name, "x");
	expect(&a[2], VALUE_S32, 32, 4);
	expect(&a[3], VALUE_U32, 24, 4);
	expect(&a[4], VALUE_X32, 24, 4);
	expect(&a[5], VALUE_PTR, 40, 8);
}

Test(trace_values, are_texts_in_the_record)
{
	const struct argument *a = place("(comm, who=comm:str, name)");

	for (size_t i = 0; i < 2; i++) {
		cr_assert(a[i].form.type == VALUE_STR && a[i].how.is_text);
		cr_assert(a[i].how.base == DP_BASE_RECORD && a[i].how.n_derefs == 0);
		cr_assert_eq(a[i].how.add, 8);
	}
	cr_assert(a[2].form.type == VALUE_STR && a[2].how.is_text);
	cr_assert(a[2].how.base == DP_BASE_LOCATED && a[2].how.n_derefs == 0);
	cr_assert(a[2].how.derefs[0] == 48 && a[2].how.add == 0);
}

Test(trace_values, are_what_pointers_lead_to)
{
	const struct argument *a = place("(file:str, y=file->16:u32, z=flags+4->8->24+2:str)");

	cr_assert(a[0].how.is_text && a[0].how.n_derefs == 1 && a[0].how.derefs[0] == 40);
	cr_assert(a[0].how.size == 8 && a[0].how.add == 0);
	cr_assert(a[1].how.n_derefs == 2 && a[1].how.derefs[0] == 40 && a[1].how.derefs[1] == 16);
	cr_assert(a[1].how.size == 4 && a[1].form.type == VALUE_U32);
	cr_assert(a[2].how.n_derefs == 3 && a[2].how.derefs[1] == 12 && a[2].how.derefs[2] == 24);
	cr_assert(a[2].how.add == 2 && a[2].how.is_text);
}

/* A program must not be able to have the kernel's memory read. */
Test(trace_values, of_system_calls_are_in_the_program)
{
	struct trace_record syscall = record;

	syscall.is_syscall = true;
	cr_assert_eq(place_in("(file:str, file->16:u32, file, pid)", &syscall), 0, "%s", why);
	for (size_t i = 0; i < 2; i++)
		cr_assert_eq(arguments.of[i].how.base, DP_BASE_SYSCALL);
	expect(&arguments.of[2], VALUE_PTR, 40, 8);
	expect(&arguments.of[3], VALUE_S32, 24, 4);
	cr_assert_eq(place("(file:str)")->how.base, DP_BASE_RECORD);
}

Test(trace_values, are_arguments_by_number)
{
	struct trace_record numbered = record;

	numbered.is_numbered = true;
	cr_assert_eq(place_in("(arg1, arg3->8:u16)", &numbered), 0, "%s", why);
	expect(&arguments.of[0], VALUE_S32, 24, 4);
	cr_assert_str_eq(arguments.of[0].form.name, "arg1");
	cr_assert_eq(arguments.of[1].how.derefs[0], 40);
	cr_assert_eq(place_in("(arg8)", &numbered), -EINVAL);
	cr_assert(strstr(why, "there is no arg8, but pid, flags, file, comm, name"), "%s", why);
}

Test(trace_values, that_are_not_there)
{
	expect_error("(pdi)", "there is no pdi, but pid, flags, file, comm, name");
	cr_assert(!strstr(why, "seventh"), "%s", why);
	expect_error("(arg1)", "there is no arg1");
	expect_error("(mac)", "mac is no number, pointer or text");
	expect_error("(seventh)",
		     "seventh is not in a register, as the first arguments are, up to 6 words");
	expect_error("(x=seventh->8:u32)", "seventh is not in a register");
	expect_error("(comm:u8)", "comm is a text");
	expect_error("(comm->8)", "comm is a text");
	expect_error("(pid:str)", "pid is no pointer: it has 4 bytes");
	expect_error("(pid->8)", "pid is no pointer: it has 4 bytes");
	expect_error("(file->1->1->1->1->1->1->1->1)", "too many dereferences");
}
