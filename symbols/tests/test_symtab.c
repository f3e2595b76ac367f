// SPDX-License-Identifier: Apache-2.0
/* Which of the symbols at an address names it, and the extent of functions. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/dwfl_file.h"
#include "symbols/symtab.h"
#include "symbols/tests/some_names.h"

/*
 * Symbols of this program. The last symbol at each address is its name; the first one would win
 * alphabetically, the last criterion.
 */
__asm__(".text\n"
	".macro function name\n"
	"  .type \\name, @function\n"
	"  .size \\name, 8\n"
	"\\name:\n"
	".endm\n"
	".p2align 4\n"
	"place_global:\n"
	".weak ab_weak\n"
	".globl zz_global\n"
	"function aa_local\n"
	"function ab_weak\n"
	"function zz_global\n"
	".fill 16, 1, 0x90\n"
	"place_weak:\n"
	".weak zz_weak\n"
	"function aa_local_too\n"
	"function zz_weak\n"
	".fill 16, 1, 0x90\n"
	"place_typed:\n"
	".globl aa_untyped\n"
	".size aa_untyped, 8\n"
	"aa_untyped:\n"
	"function zz_typed\n"
	".fill 16, 1, 0x90\n"
	"place_sized:\n"
	".globl aa_unsized\n"
	".type aa_unsized, @function\n"
	"aa_unsized:\n"
	"function zz_sized\n"
	".fill 16, 1, 0x90\n"
	"place_plain:\n"
	"function __aa_plain\n"
	"function _ab_plain\n"
	"function zz_plain\n"
	".fill 16, 1, 0x90\n"
	"place_internal:\n"
	"function __GI___clone9\n"
	"function __clone9\n"
	".fill 16, 1, 0x90\n"
	"place_open:\n"
	".type open_ended, @function\n"
	"open_ended:\n"
	".fill 16, 1, 0x90\n"
	"function behind_it\n"
	".fill 8, 1, 0x90\n"
	"no_function:\n"
	".fill 8, 1, 0x90\n"
	"place_undescribed:\n"
	".type before_described, @function\n"
	"before_described:\n"
	".fill 8, 1, 0x90\n"
	".cfi_startproc\n"
	".fill 8, 1, 0x90\n"
	".cfi_endproc\n"
	"place_described:\n"
	".type described, @function\n"
	"described:\n"
	".cfi_startproc\n"
	".fill 8, 1, 0x90\n"
	".cfi_endproc\n"
	".fill 8, 1, 0x90\n"
	"place_nested:\n"
	".type around, @function\n"
	".size around, 24\n"
	"around:\n"
	".fill 8, 1, 0x90\n"
	"function within\n"
	".fill 16, 1, 0x90\n"
	".type an_object, @object\n"
	".size an_object, 8\n"
	"an_object:\n"
	".fill 8, 1, 0x90\n"
	/* The last code in its section, behind all other sections. */
	".section last_code, \"ax\", @progbits\n"
	"place_last:\n"
	".globl zz_last\n"
	"function aa_last\n"
	"function zz_last\n"
	".fill 8, 1, 0x90\n"
	".type unbounded, @function\n"
	"unbounded:\n"
	".fill 16, 1, 0x90\n"
	".data\n"
	"some_data:\n"
	".fill 8, 1, 0x90\n"
	".text\n");

#define PLACE(name)                                                                                \
	({                                                                                         \
		extern const char name[];                                                          \
		(uint64_t) name - (uint64_t)__executable_start;                                    \
	})

extern const char __executable_start[];

static struct symtab *symtab;

static void open_symtab(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	cr_assert(fd >= 0);
	cr_assert(symtab_new(&(struct dwfl_source){ .names = some_names(),
						    .fd = fd,
						    .path = "/proc/self/exe" },
			     UINT64_MAX, &symtab) == 0);
	close(fd);
}

static void close_symtab(void)
{
	symtab_free(symtab);
}

TestSuite(symtab, .init = open_symtab, .fini = close_symtab);

static void expect(uint64_t location, const char *name)
{
	const char *found = symtab_find_symbol(symtab, location);

	cr_assert(found, "there is no %s", name);
	cr_assert_str_eq(found, name);
}

/* Exported symbols and those marked as functions win. */
Test(symtab, prefers_what_is_public)
{
	expect(PLACE(place_global), "zz_global");
	expect(PLACE(place_weak), "zz_weak");
}

Test(symtab, prefers_what_is_a_function_with_a_size)
{
	expect(PLACE(place_typed), "zz_typed");
	expect(PLACE(place_sized), "zz_sized");
}

Test(symtab, prefers_the_name_that_is_not_the_library_s_own)
{
	expect(PLACE(place_plain), "zz_plain");
	expect(PLACE(place_internal), "__clone9");
}

Test(symtab, ends_functions_where_they_end)
{
	uint64_t start = PLACE(place_open), found;

	expect(start, "open_ended");
	expect(start + 15, "open_ended");
	expect(start + 16, "behind_it");
	expect(start + 23, "behind_it");
	cr_assert_eq(symtab_find_start(symtab, start + 23, &found), 0);
	cr_assert_eq(found, start + 16);
	cr_assert(!symtab_find_symbol(symtab, PLACE(place_global) + 8));
}

/* Functions in assembly may be nested: the outer one continues behind the inner one. */
Test(symtab, has_functions_in_functions)
{
	uint64_t start = PLACE(place_nested), found;

	expect(start + 7, "around");
	expect(start + 8, "within");
	expect(start + 15, "within");
	expect(start + 16, "around");
	expect(start + 23, "around");
	cr_assert(!symtab_find_symbol(symtab, start + 24));
	cr_assert_eq(symtab_find_start(symtab, start + 16, &found), 0);
	cr_assert_eq(found, start);
	cr_assert_eq(symtab_find_start(symtab, start + 24, &found), -ENOENT);
}

Test(symtab, ends_functions_with_their_section)
{
	uint64_t start = PLACE(place_last);

	expect(start, "zz_last");
	expect(start + 8, "unbounded");
	expect(start + 23, "unbounded");
	cr_assert(!symtab_find_symbol(symtab, start + 24));
}

/* From unwind information, if the symbol has no size. */
Test(symtab, ends_functions_with_their_fde)
{
	uint64_t start = PLACE(place_undescribed);

	expect(start + 7, "before_described");
	cr_assert(!symtab_find_symbol(symtab, start + 8));
	cr_assert(!symtab_find_symbol(symtab, start + 15));
	start = PLACE(place_described);
	expect(start, "described");
	expect(start + 7, "described");
	cr_assert(!symtab_find_symbol(symtab, start + 8));
}

/* Expects the next `size` addresses in stripped.s to have this name. */
static void expect_extent(uint64_t *at, const char *name, uint64_t size)
{
	const char *found;

	while (*at < 0x10000 && !symtab_find_symbol(symtab, *at))
		++*at;
	for (uint64_t start = *at; *at < start + size; ++*at)
		expect(*at, name);
	found = symtab_find_symbol(symtab, *at);
	cr_assert(!found || strcmp(found, name) != 0, "%s goes on", name);
}

/* Only global symbols remain; the code behind them may belong to other functions. */
Test(symtab, names_no_more_than_is_certain_in_stripped_files)
{
	const char *path = getenv("STRIPPED");
	uint64_t at = 0;
	int fd;

	cr_assert(path, "STRIPPED is not set; try: meson test symbols-symtab");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	symtab_free(symtab);
	cr_assert(symtab_new(&(struct dwfl_source){ .names = some_names(), .fd = fd, .path = path },
			     UINT64_MAX, &symtab) == 0);
	close(fd);
	expect_extent(&at, "described_whole", 16);
	expect_extent(&at, "before_described", 16);
	expect_extent(&at, "returns", 24);
	expect_extent(&at, "aligned", 16);
	expect_extent(&at, "sized", 16);
	while (at < 0x10000)
		cr_assert(!symtab_find_symbol(symtab, at++));
}

Test(symtab, has_no_names_of_data)
{
	cr_assert(!symtab_find_symbol(symtab, PLACE(no_function)));
	cr_assert(!symtab_find_symbol(symtab, PLACE(an_object)));
	cr_assert(!symtab_find_symbol(symtab, PLACE(some_data)));
}

/* A function in C. */
__attribute__((noinline, used)) static int landmark(int n)
{
	return n * 3 + 1;
}

Test(symtab, finds_the_functions_of_this_program)
{
	uint64_t address = (uint64_t)&landmark - (uint64_t)__executable_start;

	expect(address, "landmark");
	expect(address + 1, "landmark");
	cr_assert(symtab_find_symbol(symtab, 1) == NULL);
	cr_assert(symtab_find_symbol(symtab, UINT64_MAX) == NULL);
	/* The same without the file. */
	cr_assert(symtab_detach(symtab) == 0);
	expect(address, "landmark");
}

/* The same long name of many functions is in the file once, and may be copied for each. */
Test(symtab, takes_no_more_memory_than_it_may)
{
	uint64_t memory = symtab_memory(symtab);
	const struct dwfl_source source = {
		.names = some_names(),
		.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
		.path = "/proc/self/exe",
	};
	struct symtab *other;

	cr_assert_gt(memory, strlen("landmark"));
	cr_assert_eq(symtab_new(&source, memory - 1, &other), -E2BIG);
	cr_assert_eq(symtab_new(&source, 0, &other), -E2BIG);
	cr_assert_eq(symtab_new(&source, memory, &other), 0);
	symtab_free(other);
	close(source.fd);
}

Test(symtab, refuses_what_is_no_elf_file)
{
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	struct symtab *none;

	cr_assert(symtab_new(&(struct dwfl_source){ .fd = fd, .path = "status" }, UINT64_MAX,
			     &none) < 0);
	cr_assert(symtab_new(
			  &(struct dwfl_source){
				  .fd = -1, .memory = "status", .size = 7, .path = "status" },
			  UINT64_MAX, &none) < 0);
	close(fd);
}
