// SPDX-License-Identifier: Apache-2.0
/* Functions of this program, which has symbols: only their addresses are used. */
#include <criterion/criterion.h>
#include <errno.h>

#include "elf/code_search.h"
#include "elf/tests/own_file.h"

/* No other code in this program has it. */
static volatile uint32_t constant = 0x6b8d1c5a;
#define BIT 0x400

extern const char first[], first_end[], second[], second_end[];
extern const char called[], called_often[], caller[], caller_end[];

/* Behind the first one are the constant's bytes, but no unwind information. */
__asm__(".text\n"
	"first: .cfi_startproc\n"
	"	mov $0x6b8d1c5a, %eax\n"
	"	mov $0x6b8d1c5a, %edx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"first_end:\n"
	"	.long 0x6b8d1c5a\n"
	"second: .cfi_startproc\n"
	"	ret\n"
	"	.long 0x6b8d185a\n"
	"	.cfi_endproc\n"
	"second_end:\n"
	"third: .cfi_startproc\n"
	"	ret\n"
	"	.long 0x6b8d1c5b\n"
	"	.cfi_endproc\n"
	"called: .cfi_startproc\n"
	"	call called\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"caller: .cfi_startproc\n"
	"	call called\n"
	"	call called_often\n"
	"	call called\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"caller_end:\n"
	"called_often: .cfi_startproc\n"
	"	call called_often + 1\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"other_caller: .cfi_startproc\n"
	"	call called_often\n"
	"	ret\n"
	"	.cfi_endproc\n");

static uint64_t found[4];
static size_t n_found;

TestSuite(code_search, .init = open_own_file, .fini = close_own_file);

Test(code_search, a_function_has_one_caller)
{
	uint64_t start, stop;

	cr_assert_eq(code_find_caller(&file, in_file(called), &start, &stop), 0);
	cr_expect_eq(start, in_file(caller));
	cr_expect_eq(stop, in_file(caller_end));
	cr_expect_eq(code_find_caller(&file, in_file(called_often), &start, &stop), -EMLINK);
	cr_expect_eq(code_find_caller(&file, in_file(caller), &start, &stop), -ENOENT);
}

/* *arg: how many are enough. */
static int on_use(void *arg, uint64_t start, uint64_t stop)
{
	const size_t *enough = arg;

	cr_assert_lt(n_found, 4);
	found[n_found++] = start;
	found[n_found++] = stop;
	return n_found / 2 == *enough ? -ECANCELED : 0;
}

Test(code_search, functions_have_it)
{
	size_t enough = 0;

	cr_assert_eq(code_each_with(&file, constant, 0, on_use, &enough), 0);
	cr_assert_eq(n_found, 2);
	cr_expect_eq(found[0], in_file(first));
	cr_expect_eq(found[1], in_file(first_end));
}

Test(code_search, some_bits_are_ignored)
{
	size_t enough = 0;

	cr_assert_eq(code_each_with(&file, constant, BIT, on_use, &enough), 0);
	cr_assert_eq(n_found, 4);
	cr_expect_eq(found[2], in_file(second));
	cr_expect_eq(found[3], in_file(second_end));
}

Test(code_search, the_search_may_end)
{
	size_t enough = 1;

	cr_assert_eq(code_each_with(&file, constant, BIT, on_use, &enough), -ECANCELED);
	cr_assert_eq(n_found, 2);
}
