// SPDX-License-Identifier: Apache-2.0
/* Functions of this program, which has symbols: only their addresses are used. */
#include <criterion/criterion.h>
#include <errno.h>

#include "elf/cold_part.h"
#include "elf/tests/own_file.h"

extern const char split[], split_end[], split_part[], split_part_end[];
extern const char leaves[], leaves_end[], whole[], whole_end[];

/* One with a part, which another one begins in the middle of; one that goes on with another function; and that. */
__asm__(".text\n"
	"split: .cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	test %edi, %edi\n"
	"	je whole\n"
	"	js split_middle\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"split_end:\n"
	"leaves: .cfi_startproc\n"
	"	test %edi, %edi\n"
	"	je whole\n"
	"	jmp whole\n"
	"	.cfi_endproc\n"
	"leaves_end:\n"
	"whole: .cfi_startproc\n"
	"1:	dec %edi\n"
	"	jne 1b\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"whole_end:\n"
	".section .text.unlikely, \"ax\"\n"
	"	nop\n"
	"split_part: .cfi_startproc\n"
	"	.cfi_def_cfa_offset 16\n"
	"	nop\n"
	"split_middle:\n"
	"	ud2\n"
	"	.cfi_endproc\n"
	"split_part_end:\n"
	".text\n");

TestSuite(cold_part, .init = open_own_file, .fini = close_own_file);

Test(cold_part, is_where_a_function_jumps_to)
{
	uint64_t start, stop;

	cr_assert_eq(cold_part_find(&file, in_file(split), in_file(split_end), &start, &stop), 0);
	cr_expect_eq(start, in_file(split_part));
	cr_expect_eq(stop, in_file(split_part_end));
}

Test(cold_part, is_no_other_function)
{
	uint64_t start, stop;

	cr_expect_eq(cold_part_find(&file, in_file(leaves), in_file(leaves_end), &start, &stop),
		     -ENOENT);
	cr_expect_eq(cold_part_find(&file, in_file(whole), in_file(whole_end), &start, &stop),
		     -ENOENT);
	cr_expect_eq(cold_part_find(&file, in_file(whole), in_file(whole), &start, &stop), -ENOENT);
	cr_expect_eq(cold_part_find(&file, 0, UINT64_MAX, &start, &stop), -ENOENT);
}
