// SPDX-License-Identifier: Apache-2.0
/* C++ runtimes in files, compared with what readelf says of them. */
#include "values/cxx_runtime.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbols/demangle.h"

static int find(const char *path, struct cxx_runtime *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_file file;
	int err;

	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(elf_file_init_fd_only(&file, fd), 0);
	err = cxx_runtime_find(&file, fd, ret);
	elf_file_done(&file);
	cr_assert(err < 0 || cxx_runtime_is_sound(ret));
	return err;
}

/* The hexadecimal number that a command writes first; 0: none. */
static uint64_t number_of(const char *format, const char *path)
{
	char command[1024];
	uint64_t number = 0;
	FILE *output;

	snprintf(command, sizeof(command), format, path);
	output = popen(command, "re");
	cr_assert(output);
	if (fscanf(output, "%" SCNx64, &number) != 1)
		number = 0;
	pclose(output);
	return number;
}

#define SYMBOL(name)                                                                               \
	"readelf -W -s %s | awk '$8 ~ /^" name "(@|$)/ && $7 != \"UND\" { print $2; exit }'"
#define NOTE(name)                                                                                 \
	"readelf -W -n %s | grep -A1 -w 'Name: " name                                              \
	"' | sed -n 's/.*Location: 0x\\([0-9a-f]*\\),.*/\\1/p'"

static void expect_classes(const struct cxx_runtime *r, const char *path)
{
	cr_assert_eq(r->what[DP_WHAT_RUNTIME_ERROR],
		     number_of(SYMBOL("_ZTVSt13runtime_error"), path) + 32);
	cr_assert_eq(r->what[DP_WHAT_LOGIC_ERROR],
		     number_of(SYMBOL("_ZTVSt11logic_error"), path) + 32);
	cr_assert_eq(r->what[DP_WHAT_BAD_ALLOC], number_of(SYMBOL("_ZTVSt9bad_alloc"), path) + 32);
	cr_assert_eq(r->what[DP_WHAT_BAD_ARRAY_NEW_LENGTH],
		     number_of(SYMBOL("_ZTVSt20bad_array_new_length"), path) + 32);
	cr_assert_eq(r->what[DP_WHAT_BAD_ARRAY_NEW_LENGTH_LLVM], 0);
}

/* Either way, as the library was built. */
static void expect_place(const struct cxx_runtime *r, enum cxx_throw which, uint64_t note,
			 uint64_t symbol)
{
	cr_assert_neq(symbol, 0);
	cr_assert_eq(r->throws[which].address, note ? note : symbol);
	if (note)
		cr_assert(r->throws[which].object > 0 &&
			  (r->throws[which].type > 0) == (which == CXX_THROW));
}

static void expect_runtime(const char *path)
{
	struct cxx_runtime r;

	cr_assert_eq(find(path, &r), 0);
	cr_assert(!r.hides);
	expect_place(&r, CXX_THROW, number_of(NOTE("throw"), path),
		     number_of(SYMBOL("__cxa_throw"), path));
	expect_place(&r, CXX_RETHROW, number_of(NOTE("rethrow"), path),
		     number_of(SYMBOL("__cxa_rethrow"), path));
	expect_classes(&r, path);
}

Test(cxx_runtime, is_in_the_library)
{
	static const char held[] =
		SYMBOL("_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE");
	const char *path = getenv("CXX_LIBRARY");
	struct cxx_runtime r;

	expect_runtime(path);
	cr_assert_eq(find(path, &r), 0);
	expect_place(&r, CXX_RETHROW_HELD, 0, number_of(held, path));
	cr_assert(r.throws[CXX_RETHROW_HELD].is_held && r.throws[CXX_RETHROW_HELD].object);
}

Test(cxx_runtime, is_in_a_program_that_is_linked_with_it)
{
	expect_runtime(getenv("CXX_STATIC"));
}

Test(cxx_runtime, is_not_in_a_program_that_uses_the_library)
{
	struct cxx_runtime r;

	cr_assert_eq(find(getenv("CXX_DYNAMIC"), &r), -ENOENT);
	cr_assert(!r.hides);
	cr_assert_eq(find("/proc/self/exe", &r), -ENOENT);
}

static void make(const char *command, char ret[64])
{
	char line[1024];

	strcpy(ret, "/tmp/test_cxx_runtime.XXXXXX");
	close(mkstemp(ret));
	snprintf(line, sizeof(line), "%s %s %s", command, getenv("CXX_STATIC"), ret);
	cr_assert_eq(system(line), 0, "%s", line);
}

Test(cxx_runtime, is_known_by_symbols_without_notes)
{
	struct cxx_runtime r;
	char path[64];

	make("objcopy -R .note.stapsdt", path);
	cr_assert_eq(find(path, &r), 0);
	cr_assert_eq(r.throws[CXX_THROW].address, number_of(SYMBOL("__cxa_throw"), path));
	cr_assert(r.throws[CXX_THROW].object == DP_RDI + 1 &&
		  r.throws[CXX_THROW].type == DP_RSI + 1);
	cr_assert_eq(r.throws[CXX_RETHROW].address, number_of(SYMBOL("__cxa_rethrow"), path));
	cr_assert(r.throws[CXX_RETHROW].object == 0 && r.throws[CXX_RETHROW].type == 0);
	expect_classes(&r, path);
	unlink(path);
}

/* As of a program that notes what is thrown, and calls the runtime. */
Test(cxx_runtime, is_not_what_only_defines_the_function)
{
	struct cxx_runtime r;
	char path[64];

	make("objcopy -R .note.stapsdt --strip-symbol=__cxa_begin_catch", path);
	cr_assert(find(path, &r) == 0 && r.hides);
	cr_assert_eq(r.throws[CXX_THROW].address, 0);
	unlink(path);
}

Test(cxx_runtime, is_hidden_without_symbols_and_notes)
{
	struct cxx_runtime r;
	char path[64];

	make("objcopy --strip-all -R .note.stapsdt", path);
	cr_assert_eq(find(path, &r), 0);
	cr_assert(r.hides == 1 && r.throws[CXX_THROW].address == 0);
	cr_assert_eq(r.what[DP_WHAT_RUNTIME_ERROR], 0);
	unlink(path);
}

static void expect_type(const char *name, const char *type)
{
	_cleanup_free_ char *text = demangle_type(name);

	cr_assert_str_eq(text, type);
}

Test(demangle_type, is_as_in_the_source)
{
	expect_type("i", "int");
	expect_type("St12out_of_range", "std::out_of_range");
	expect_type("*N12_GLOBAL__N_11EE", "(anonymous namespace)::E");
	expect_type(
		"NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
		"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >");
	expect_type("PSt13runtime_error", "std::runtime_error*");
}

Test(demangle_type, is_unchanged_if_it_is_none)
{
	expect_type("no type", "no type");
	expect_type("", "");
	expect_type("*", "");
}
