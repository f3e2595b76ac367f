// SPDX-License-Identifier: Apache-2.0
/* Functions of this program and of a library by their names; all of them as elf_functions_each() has them. */
#include "functions/function_search.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/as_it_is.h"
#include "base/cleanup.h"
#include "elf/elf_functions.h"

void searched_one(void);
void searched_two(void);
void searched(void);

AS_IT_IS void searched_one(void)
{
}

AS_IT_IS void searched_two(void)
{
	searched_one();
}

/* Has a name that others begin with. */
AS_IT_IS void searched(void)
{
	searched_two();
}

static struct function_list list;

static int search(const char *file, const char *pattern, bool has_hint)
{
	_cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC);
	const struct function_query query = { .pattern = pattern, .has_hint = has_hint };

	function_list_done(&list);
	return function_search(fd, &query, &list);
}

static void end(void)
{
	function_list_done(&list);
}

TestSuite(function_search, .fini = end);

/* Are all of this kind, and is one of them called so? */
static bool has(enum listed_kind kind, const char *name)
{
	struct listed_function f;
	bool has_name = false;

	for (size_t at = 0; function_list_next(&list, &at, &f);) {
		cr_expect_eq(f.kind, kind);
		has_name |= strcmp(f.name, name) == 0;
	}
	return has_name;
}

static int count(void *arg, const struct elf_function *f)
{
	uint64_t *sums = arg;

	if (strstr(f->symbol, ".part.") || strstr(f->symbol, ".cold"))
		return 0;
	sums[0]++;
	sums[1] += f->offset;
	sums[2] += f->size;
	sums[3] += strlen(f->symbol);
	return 0;
}

Test(function_search, finds_all)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t in_file[4] = { 0 }, listed[4] = { 0 };
	struct listed_function f;

	cr_assert_eq(elf_functions_each(fd, count, in_file), 0);
	cr_assert_eq(search("/proc/self/exe", "*", true), 0);
	for (size_t at = 0; function_list_next(&list, &at, &f);)
		count(listed, &(struct elf_function){ f.symbol, f.offset, f.size, 0 });
	cr_assert_gt(in_file[0], 10);
	cr_assert_arr_eq(listed, in_file, sizeof(listed));
}

Test(function_search, finds_a_name_or_else_those_of_a_glob)
{
	searched();
	cr_assert_eq(search("/proc/self/exe", "searched_*", true), 0);
	cr_expect(has(LISTED_FUNCTION, "searched_one") && has(LISTED_FUNCTION, "searched_two"));
	cr_expect(!has(LISTED_FUNCTION, "searched"));
	cr_assert_eq(search("/proc/self/exe", "searched", true), 0);
	cr_expect(has(LISTED_FUNCTION, "searched") && !has(LISTED_FUNCTION, "searched_one"));
}

Test(function_search, has_names_as_in_the_source)
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW);
	void *seek = library ? dlsym(library, "_ZNSo5seekpElSt12_Ios_Seekdir") : NULL;
	Dl_info info;

	cr_assert(seek && dladdr(seek, &info));
	cr_assert_eq(search(info.dli_fname, "std::ostream::seekp(long, *)", true), 0);
	cr_expect(has(LISTED_FUNCTION, "std::ostream::seekp"));
	cr_assert_eq(search(info.dli_fname, "ostream::seekp", true), 0);
	cr_expect(has(LISTED_HINT, "std::ostream::seekp"));
	dlclose(library);
}

Test(function_search, gives_a_hint_only_if_asked)
{
	cr_assert_eq(search("/proc/self/exe", "serached_one", true), 0);
	cr_expect(has(LISTED_HINT, "searched_one"));
	cr_assert_eq(search("/proc/self/exe", "serached_one", false), 0);
	cr_expect_eq(list.size, 0);
	cr_assert_eq(search("/proc/self/exe", "xyzzyplughfrotz", true), 0);
	cr_expect_eq(list.size, 0);
}

Test(function_search, is_of_an_elf_file)
{
	cr_assert_eq(search("/proc/self/maps", "*", true), -ENOEXEC);
	cr_assert(!list.bytes && list.size == 0);
}

static const char *why(void)
{
	static char text[128];
	struct listed_function f;
	size_t at = 0;

	cr_assert(function_list_next(&list, &at, &f) && f.kind == LISTED_WHY);
	snprintf(text, sizeof(text), "%s", f.name);
	return text;
}

/* Its first instruction, which all compilers have here: endbr64, of 4 bytes. */
__asm__(".pushsection .text\n"
	".type searched_code, @function\n"
	"searched_code: endbr64; nop; ret\n"
	".size searched_code, .-searched_code\n"
	".popsection");

Test(function_search, finds_instructions_of_a_function)
{
	struct listed_function f;
	uint64_t start;
	size_t at = 0;

	cr_assert_eq(search("/proc/self/exe", "searched_code", true), 0);
	cr_assert(function_list_next(&list, &at, &f) && f.size == 6);
	start = f.offset;
	for (unsigned int i = 0; i < 3; i++) {
		static const char *const names[] = { "searched_code+0", "searched_code+4",
						     "searched_code+0x5" };
		static const uint64_t offsets[] = { 0, 4, 5 };

		at = 0;
		cr_assert_eq(search("/proc/self/exe", names[i], true), 0);
		cr_assert(function_list_next(&list, &at, &f) && f.kind == LISTED_FUNCTION);
		cr_assert_eq(f.offset, start + offsets[i], "%s", names[i]);
	}
	cr_assert_eq(search("/proc/self/exe", "searched_code+3", true), 0);
	cr_assert_str_eq(why(), "that is within an instruction; the next one begins at +4");
	cr_assert_eq(search("/proc/self/exe", "searched_code+6", true), 0);
	cr_assert_str_eq(why(), "the function has only 6 bytes");
	cr_assert_eq(search("/proc/self/exe", "searched_code+3", false), 0);
	cr_assert_eq(list.size, 0);
	cr_assert_eq(search("/proc/self/exe", "serched_code+4", true), 0);
	cr_assert(has(LISTED_HINT, "searched_code"));
	cr_assert_eq(search("/proc/self/exe", "searched_code+", false), 0);
	cr_assert_eq(list.size, 0, "a name, which no function has");
}
