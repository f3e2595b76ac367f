// SPDX-License-Identifier: Apache-2.0
/*
 * Where parameters of strings.cc are, without optimization, where only the psABI tells, and with it, where
 * location lists do: in the registers and at the offsets of the psABI and libstdc++'s ABI.
 */
#include "values/parameters.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "functions/line_places.h"

static struct parameter found;

static void find_wanted(const char *library, const char *function,
			const struct parameter_wanted *wanted)
{
	_cleanup_close_ int fd = open(library, O_RDONLY | O_CLOEXEC);
	struct enumerators names = { 0 };
	void *handle = dlopen(library, RTLD_NOW);
	char *at = handle ? dlsym(handle, function) : NULL;
	Dl_info info;

	cr_assert(at && dladdr(at, &info), "%s in %s", function, library);
	memset(&found, 0xff, sizeof(found));
	cr_assert_eq(parameters_find(fd, (uint64_t)(at - (char *)info.dli_fbase), wanted, 1, &found,
				     &names),
		     0);
	cr_assert_eq(names.n, found.n_names);
	enumerators_done(&names);
	dlclose(handle);
}

static void find_in(const char *library, const char *function, const char *path,
		    enum value_type type, const char *length)
{
	struct parameter_wanted wanted = { .type = type };

	snprintf(wanted.path, sizeof(wanted.path), "%s", path);
	snprintf(wanted.length, sizeof(wanted.length), "%s", length);
	find_wanted(library, function, &wanted);
}

static void find_result(const char *library, const char *function, const char *path)
{
	struct parameter_wanted wanted = { .type = VALUE_N_TYPES, .is_result = 1 };

	snprintf(wanted.path, sizeof(wanted.path), "%s", path);
	find_wanted(library, function, &wanted);
}

/* What the words are read from: a register, and the offsets of dereferences. */
#define EXPECT_WORD(how_, reg_, ...)                                                               \
	do {                                                                                       \
		const __s32 offsets_[DP_MAX_DEREFS] = { __VA_ARGS__ };                             \
		const size_t n_ = sizeof((__s32[]){ __VA_ARGS__ }) / sizeof(__s32);                \
                                                                                                   \
		cr_assert_eq((how_).base, DP_BASE_REGISTER);                                       \
		cr_assert_eq((how_).reg, reg_, "%u", (how_).reg);                                  \
		cr_assert_eq((how_).n_derefs, n_, "%u", (how_).n_derefs);                          \
		cr_assert_eq((how_).add, 0);                                                       \
		for (size_t i_ = 0; i_ < n_; i_++)                                                 \
			cr_assert_eq((how_).derefs[i_], offsets_[i_], "%d", (how_).derefs[i_]);    \
	} while (0)

static const char *const libraries[] = { "STRINGS_O0", "STRINGS_O2" };

/* Both libraries in turn, for the statement behind it. */
#define IN_EACH(library)                                                                           \
	for (size_t at_ = 0; at_ < 2; at_++)                                                       \
		for (const char *library = getenv(libraries[at_]); library; library = NULL)

static void expect_text(enum value_type type)
{
	cr_assert_str_eq(found.why, "");
	cr_assert_eq(found.type, type);
	cr_assert_eq(found.how.is_text, DP_TEXT_SIZED);
	cr_assert_eq(found.length.is_text, DP_TEXT_NONE);
	cr_assert_eq(found.length.size, 8);
}

Test(parameters, are_strings_of_libstdcxx)
{
	IN_EACH(library)
	{
		find_in(library, "by_reference", "text", VALUE_N_TYPES, "");
		expect_text(VALUE_STD_STRING);
		EXPECT_WORD(found.how, DP_RDI, 0);
		EXPECT_WORD(found.length, DP_RDI, 8);
		find_in(library, "by_reference", "wide->name", VALUE_N_TYPES, "");
		expect_text(VALUE_STD_STRING);
		EXPECT_WORD(found.how, DP_RCX, 8);
		EXPECT_WORD(found.length, DP_RCX, 16);
		find_in(library, "by_value", "text", VALUE_N_TYPES, "");
		expect_text(VALUE_STD_STRING);
		EXPECT_WORD(found.how, DP_RDI, 0);
		EXPECT_WORD(found.length, DP_RDI, 8);
	}
}

/* What the object has tells where its text is. */
static void expect_libcxx(uint8_t reg, int64_t offset)
{
	cr_assert_str_eq(found.why, "");
	cr_assert(found.type == VALUE_LIBCXX_STRING && found.how.is_text == DP_TEXT_LIBCXX);
	cr_assert(found.how.base == DP_BASE_REGISTER && found.how.reg == reg, "%u", found.how.reg);
	cr_assert(found.how.n_derefs == 0 && found.how.add == offset && found.length.size == 0);
}

Test(parameters, are_strings_of_libcxx)
{
	const char *library = getenv("STRINGS_LIBCXX");

	if (!library)
		cr_skip_test("there is no libc++");
	find_in(library, "by_reference", "text", VALUE_N_TYPES, "");
	expect_libcxx(DP_RDI, 0);
	find_in(library, "by_reference", "wide->name", VALUE_STD_STRING, "");
	expect_libcxx(DP_RCX, 8);
	find_in(library, "by_value", "text", VALUE_N_TYPES, "");
	expect_libcxx(DP_RDI, 0);
	find_in(library, "by_reference", "view", VALUE_N_TYPES, "");
	cr_assert_eq(found.type, VALUE_STD_STRING_VIEW);
	EXPECT_WORD(found.how, DP_RSI);
	EXPECT_WORD(found.length, DP_RDX);
	find_in(library, "by_reference", "text", VALUE_RUST_STR, "");
	cr_assert_str_eq(found.why, "of a string of libc++, std::string alone can be read");
	find_in(library, "by_reference", "wide->wide", VALUE_N_TYPES, "");
	cr_assert(strstr(found.why, "it is a struct"), "%s", found.why);
}

Test(parameters, are_views_in_two_registers)
{
	IN_EACH(library)
	{
		find_in(library, "by_reference", "view", VALUE_N_TYPES, "");
		expect_text(VALUE_STD_STRING_VIEW);
		EXPECT_WORD(found.how, DP_RDX);
		EXPECT_WORD(found.length, DP_RSI);
		find_in(library, "by_reference", "view._M_len", VALUE_N_TYPES, "");
		cr_assert_eq(found.type, VALUE_U64);
		EXPECT_WORD(found.how, DP_RSI);
		find_in(library, "by_reference", "wide->view", VALUE_N_TYPES, "");
		expect_text(VALUE_STD_STRING_VIEW);
		EXPECT_WORD(found.how, DP_RCX, 48);
		EXPECT_WORD(found.length, DP_RCX, 40);
		find_in(library, "by_value", "view", VALUE_N_TYPES, "");
		EXPECT_WORD(found.how, DP_RDX);
		EXPECT_WORD(found.length, DP_RSI);
	}
}

/* As in the source: the second takes two registers, or another one. */
Test(parameters, are_numbered)
{
	IN_EACH(library)
	{
		find_in(library, "by_reference", "arg3->first", VALUE_N_TYPES, "");
		cr_assert_eq(found.type, VALUE_S32, "%s", found.why);
		EXPECT_WORD(found.how, DP_RCX, 0);
		find_in(library, "by_reference", "arg2._M_len", VALUE_U8, "");
		cr_assert_eq(found.type, VALUE_U8, "%s", found.why);
		EXPECT_WORD(found.how, DP_RSI);
		find_in(library, "both", "arg3->name", VALUE_N_TYPES, "");
		expect_text(VALUE_STD_STRING);
		EXPECT_WORD(found.how, DP_RSI, 8);
		find_in(library, "both", "arg4->name", VALUE_N_TYPES, "");
		cr_assert_str_eq(found.why, "the function has no parameter arg4");
	}
}

/* A view is not split: with one register left, it is in none. */
Test(parameters, are_on_the_stack)
{
	IN_EACH(library)
	{
		find_in(library, "on_stack", "view", VALUE_N_TYPES, "");
		expect_text(VALUE_STD_STRING_VIEW);
		EXPECT_WORD(found.how, DP_RSP, 16);
		EXPECT_WORD(found.length, DP_RSP, 8);
		find_in(library, "on_stack", "f", VALUE_N_TYPES, "");
		EXPECT_WORD(found.how, DP_R9);
		find_in(library, "on_stack", "last", VALUE_N_TYPES, "");
		expect_text(VALUE_STD_STRING);
		EXPECT_WORD(found.how, DP_RSP, 24, 0);
		EXPECT_WORD(found.length, DP_RSP, 24, 8);
	}
}

Test(parameters, are_the_first_members_in_registers)
{
	IN_EACH(library)
	{
		find_in(library, "in_register", "pair.first", VALUE_N_TYPES, "");
		cr_assert_str_eq(found.why, "");
		cr_assert_eq(found.type, VALUE_S32);
		EXPECT_WORD(found.how, DP_RDI);
		find_in(library, "in_register", "pair.second", VALUE_N_TYPES, "");
		cr_assert(strstr(found.why, "not at the begin of a register"), "%s", found.why);
		find_in(library, "in_register", "other->second", VALUE_N_TYPES, "");
		EXPECT_WORD(found.how, DP_RSI, 4);
	}
}

/* How much room an object with floating-point numbers takes is not known. */
Test(parameters, are_not_guessed)
{
	const char *library = getenv("STRINGS_O0");

	find_in(library, "in_register", "last", VALUE_N_TYPES, "");
	cr_assert(strstr(found.why, "is not known"), "%s", found.why);
	find_in(library, "aligned", "last", VALUE_N_TYPES, "");
	cr_assert(strstr(found.why, "is not known"), "%s", found.why);
	find_in(library, "by_reference", "wide->wide", VALUE_N_TYPES, "");
	cr_assert(strstr(found.why, "it is a struct"), "%s", found.why);
	find_in(library, "by_reference", "wide->letters", VALUE_STD_STRING, "");
	cr_assert(strstr(found.why, "no string of C++"), "%s", found.why);
}

Test(parameters, are_lengths_of_others)
{
	IN_EACH(library)
	{
		find_in(library, "of_bytes", "data", VALUE_BYTES, "size");
		cr_assert_str_eq(found.why, "");
		cr_assert_eq(found.how.is_text, DP_TEXT_SIZED);
		EXPECT_WORD(found.how, DP_RDI);
		EXPECT_WORD(found.length, DP_RSI);
		cr_assert_eq(found.length.size, 4);
		find_in(library, "of_bytes", "", VALUE_BYTES, "size");
		cr_assert_str_eq(found.why, "");
		EXPECT_WORD(found.length, DP_RSI);
		find_in(library, "of_bytes", "size", VALUE_BYTES, "data");
		cr_assert(strstr(found.why, "length is no integer"), "%s", found.why);
	}
}

Test(parameters, are_what_is_wanted)
{
	IN_EACH(library)
	{
		find_in(library, "by_reference", "text", VALUE_PTR, "");
		cr_assert(found.type == VALUE_PTR && found.how.is_text == DP_TEXT_NONE);
		EXPECT_WORD(found.how, DP_RDI, 0);
		find_in(library, "by_reference", "text", VALUE_STR, "");
		cr_assert_eq(found.how.is_text, DP_TEXT_SIZED);
	}
}

Test(parameters, are_results)
{
	IN_EACH(library)
	{
		find_result(library, "state_of", "ret");
		cr_assert(found.type == VALUE_S8 && found.n_names == 2, "%s", found.why);
		EXPECT_WORD(found.how, DP_RAX);
		find_result(library, "make", "ret");
		expect_text(VALUE_STD_STRING);
		EXPECT_WORD(found.how, DP_RAX, 0);
		EXPECT_WORD(found.length, DP_RAX, 8);
		find_result(library, "cut", "ret");
		expect_text(VALUE_STD_STRING_VIEW);
		EXPECT_WORD(found.how, DP_RDX);
		EXPECT_WORD(found.length, DP_RAX);
		find_result(library, "other", "ret->second");
		cr_assert_eq(found.type, VALUE_S32);
		EXPECT_WORD(found.how, DP_RAX, 4);
		find_result(library, "same", "ret.first");
		EXPECT_WORD(found.how, DP_RAX);
		find_result(library, "half", "ret");
		cr_assert(strstr(found.why, "in a register for floats"), "%s", found.why);
		cr_assert_eq(found.type, VALUE_F64, "no integer");
		find_result(library, "by_value", "ret");
		cr_assert(strstr(found.why, "how the function returns it"), "%s", found.why);
	}
}

/* Whether a class with a destructor or a packed one is returned in registers is not in debug information. */
Test(parameters, are_not_guessed_behind_a_result)
{
	const char *library = getenv("STRINGS_O0");

	find_result(library, "closed", "ret.file");
	cr_assert(strstr(found.why, "how the function returns it"), "%s", found.why);
	find_in(library, "closed", "file", VALUE_N_TYPES, "");
	cr_assert(strstr(found.why, "is not known"), "%s", found.why);
	find_in(library, "packed", "number", VALUE_N_TYPES, "");
	cr_assert(strstr(found.why, "is not known"), "%s", found.why);
}

Test(parameters, are_floats_in_memory)
{
	IN_EACH(library)
	{
		find_in(library, "scaled", "of->ratio", VALUE_N_TYPES, "");
		cr_assert_eq(found.type, VALUE_F64, "%s", found.why);
		EXPECT_WORD(found.how, DP_RDI, 0);
		cr_assert_eq(found.how.size, 8);
		find_in(library, "scaled", "ninth", VALUE_N_TYPES, "");
		cr_assert_eq(found.type, VALUE_F64, "%s", found.why);
		EXPECT_WORD(found.how, DP_RSP, 8);
		find_in(library, "scaled", "a", VALUE_N_TYPES, "");
		cr_assert(strstr(found.why, "in a register for floats"), "%s", found.why);
		find_in(library, "scaled", "h", VALUE_F32, "");
		cr_assert(strstr(found.why, "in a register for floats"), "%s", found.why);
	}
}

static void find_at_line(const char *library, unsigned int number, const char *path)
{
	struct parameter_wanted wanted = { .type = VALUE_N_TYPES };
	_cleanup_close_ int fd = open(library, O_RDONLY | O_CLOEXEC);
	struct source_line line = { "scopes.cc", strlen("scopes.cc"), number };
	struct enumerators names = { 0 };
	struct line_places places;

	cr_assert_eq(line_places_find(fd, &line, &places), 0);
	snprintf(wanted.path, sizeof(wanted.path), "%s", path);
	cr_assert_eq(parameters_find(fd, places.addresses[0], &wanted, 1, &found, &names), 0);
	enumerators_done(&names);
	line_places_done(&places);
}

/* GCC refers to the CFA, which is 16 bytes above the frame pointer, behind the prologue. */
Test(parameters, are_variables_within_a_function)
{
	const char *library = getenv("STRINGS_O0");

	find_at_line(library, 1007, "total");
	cr_assert_str_eq(found.why, "");
	cr_assert_eq(found.type, VALUE_S32, "that of the inner scope");
	cr_assert(found.how.reg == DP_RBP && found.how.n_derefs == 1 && found.how.derefs[0] < 0);
	find_at_line(library, 1010, "total");
	cr_assert_eq(found.type, VALUE_S64);
	cr_assert(found.how.reg == DP_RBP && found.how.n_derefs == 1 && found.how.derefs[0] < 0);
	find_at_line(library, 1007, "pairs->second");
	cr_assert_eq(found.type, VALUE_S32);
	cr_assert(found.how.reg == DP_RBP && found.how.n_derefs == 2 && found.how.derefs[1] == 4);
	find_at_line(library, 1104, "ratio");
	cr_assert_eq(found.type, VALUE_F64, "%s", found.why);
	cr_assert(found.how.reg == DP_RBP && found.how.n_derefs == 1 && found.how.size == 8);
	find_at_line(library, 1010, "i");
	cr_assert_str_eq(found.why, "there is no variable i at that place");
	find_at_line(library, 1007, "sum");
	cr_assert_str_eq(found.why, "there is no variable sum at that place");
	find_in(library, "add_up", "total", VALUE_N_TYPES, "");
	cr_assert_str_eq(found.why, "the function has no parameter total");
}

Test(parameters, are_listed)
{
	const char *library = getenv("STRINGS_O2");
	_cleanup_close_ int fd = open(library, O_RDONLY | O_CLOEXEC);
	struct enumerators list = { 0 };
	void *handle = dlopen(library, RTLD_NOW);
	char *at = dlsym(handle, "in_register");
	Dl_info info;

	cr_assert(dladdr(at, &info));
	cr_assert_eq(parameters_list(fd, (uint64_t)(at - (char *)info.dli_fbase), &list), 0);
	cr_assert_eq(list.n, 4);
	cr_assert_str_eq(list.of[0].name, "pair");
	cr_assert_eq(list.of[0].value, VALUE_N_TYPES);
	cr_assert_str_eq(list.of[1].name, "other");
	cr_assert_eq(list.of[1].value, VALUE_PTR);
	cr_assert_str_eq(list.of[3].name, "last");
	cr_assert_eq(list.of[3].value, VALUE_S64);
	enumerators_done(&list);
	cr_assert_eq(parameters_list(fd, 1, &list), -ENODATA);
	dlclose(handle);
}
