// SPDX-License-Identifier: Apache-2.0
/* Instructions as text: what objdump writes of the same bytes. */
#include "tables/disassembly.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/array.h"

#define START 0x401000

struct wanted {
	const char *bytes;
	size_t size;
	const char *text;
};

#define CODE(bytes, text)                                                                          \
	{                                                                                          \
		bytes, sizeof(bytes) - 1, text                                                     \
	}

static struct code_line line_of(const char *bytes, size_t size)
{
	struct code_line lines[2];

	cr_assert_eq(disassemble((const uint8_t *)bytes, START, START + size, lines, 2), 1);
	cr_assert_eq(lines[0].address, START);
	cr_assert_eq(lines[0].size, size);
	cr_assert(code_lines_are_sound(lines, 1));
	return lines[0];
}

static void compare(const struct wanted *wanted, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cr_assert_str_eq(line_of(wanted[i].bytes, wanted[i].size).text, wanted[i].text);
}

Test(disassembly, has_operands_in_att_order)
{
	static const struct wanted wanted[] = {
		CODE("\x48\x89\xe5", "mov    %rsp,%rbp"),
		CODE("\x55", "push   %rbp"),
		CODE("\xc3", "ret"),
		CODE("\xc9", "leave"),
		CODE("\x8b\x45\x00", "mov    0x0(%rbp),%eax"),
		CODE("\x8b\x45\xf8", "mov    -0x8(%rbp),%eax"),
		CODE("\x48\x8d\x04\x88", "lea    (%rax,%rcx,4),%rax"),
		CODE("\x48\x8b\x04\xc5\x10\x00\x00\x00", "mov    0x10(,%rax,8),%rax"),
		CODE("\x64\x48\x8b\x04\x25\x28\x00\x00\x00", "mov    %fs:0x28,%rax"),
		CODE("\x64\x48\x8b\x04\x25\xf8\xff\xff\xff", "mov    %fs:0xfffffffffffffff8,%rax"),
		CODE("\x48\x6b\xc0\x38", "imul   $0x38,%rax,%rax"),
		CODE("\xf3\x0f\x1e\xfa", "endbr64"),
		CODE("\x0f\x05", "syscall"),
		CODE("\xd9\xc9", "fxch   %st(1)"),
		CODE("\xc5\xf5\xfe\xc2", "vpaddd %ymm2,%ymm1,%ymm0"),
		CODE("\x62\xf1\xf5\xcb\x58\x00", "vaddpd (%rax),%zmm1,%zmm0{%k3}{z}"),
		CODE("\x62\xf1\xf5\x58\x58\x00", "vaddpd (%rax){1to8},%zmm1,%zmm0"),
		CODE("\x62\xf1\xf5\x18\x58\xc2", "vaddpd {rn-sae},%zmm2,%zmm1,%zmm0"),
	};

	compare(wanted, ARRAY_SIZE(wanted));
}

Test(disassembly, has_numbers_of_the_operations_size)
{
	static const struct wanted wanted[] = {
		CODE("\x48\x83\xc4\x80", "add    $0xffffffffffffff80,%rsp"),
		CODE("\x83\xe4\xf0", "and    $0xfffffff0,%esp"),
		CODE("\x3c\xff", "cmp    $0xff,%al"),
		CODE("\x6a\xff", "push   $0xffffffffffffffff"),
		CODE("\xb8\xff\xff\xff\xff", "mov    $0xffffffff,%eax"),
		CODE("\x48\xb8\x88\x77\x66\x55\x44\x33\x22\x11", "movabs $0x1122334455667788,%rax"),
		CODE("\xcd\x80", "int    $0x80"),
	};

	compare(wanted, ARRAY_SIZE(wanted));
}

/* Suffixes only where no register tells the size. */
Test(disassembly, has_the_assemblers_names)
{
	static const struct wanted wanted[] = {
		CODE("\xc7\x00\x01\x00\x00\x00", "movl   $0x1,(%rax)"),
		CODE("\x80\x38\x00", "cmpb   $0x0,(%rax)"),
		CODE("\x48\xff\x00", "incq   (%rax)"),
		CODE("\xd3\x20", "shll   %cl,(%rax)"),
		CODE("\x89\x08", "mov    %ecx,(%rax)"),
		CODE("\x0f\xb6\xc0", "movzbl %al,%eax"),
		CODE("\x0f\xb7\x00", "movzwl (%rax),%eax"),
		CODE("\x48\x0f\xbe\x00", "movsbq (%rax),%rax"),
		CODE("\x48\x63\xd0", "movslq %eax,%rdx"),
		CODE("\x48\x98", "cltq"),
		CODE("\x48\x99", "cqto"),
		CODE("\x0f\x95\xc0", "setne  %al"),
		CODE("\x0f\x43\xc1", "cmovae %ecx,%eax"),
		CODE("\xf3\x0f\x10\x00", "movss  (%rax),%xmm0"),
		CODE("\xf2\x0f\x10\x00", "movsd  (%rax),%xmm0"),
		CODE("\xf2\x0f\x2a\x00", "cvtsi2sdl (%rax),%xmm0"),
		CODE("\xf2\x48\x0f\x2a\xc0", "cvtsi2sd %rax,%xmm0"),
		CODE("\xdb\x28", "fldt   (%rax)"),
		CODE("\xdf\x28", "fildll (%rax)"),
		CODE("\xf2\x48\x0f\x38\xf1\xc3", "crc32q %rbx,%rax"),
		CODE("\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", "cs nopw 0x0(%rax,%rax,1)"),
		CODE("\x0f\x1f\x40\x00", "nopl   0x0(%rax)"),
	};

	compare(wanted, ARRAY_SIZE(wanted));
}

Test(disassembly, has_prefixes)
{
	static const struct wanted wanted[] = {
		CODE("\xf0\x0f\xb1\x0f", "lock cmpxchg %ecx,(%rdi)"),
		CODE("\xf3\x48\xab", "rep stos %rax,%es:(%rdi)"),
		CODE("\xf3\x48\xa5", "rep movsq %ds:(%rsi),%es:(%rdi)"),
		CODE("\xf2\xae", "repnz scas %es:(%rdi),%al"),
		CODE("\xf3\xc3", "repz ret"),
		CODE("\x3e\xff\xe0", "notrack jmp *%rax"),
		CODE("\xf2\xc3", "bnd ret"),
	};

	compare(wanted, ARRAY_SIZE(wanted));
}

Test(disassembly, tells_where_code_and_data_are)
{
	struct code_line line = line_of("\xe8\xfb\x00\x00\x00", 5);

	cr_assert_str_eq(line.text, "call   401100");
	cr_assert(line.target == 0x401100 && line.is_branch && !line.is_system_call);
	line = line_of("\x75\xfe", 2);
	cr_assert_str_eq(line.text, "jne    401000");
	cr_assert(line.target == START && line.is_branch);
	line = line_of("\x8b\x05\xfa\x0f\x00\x00", 6);
	cr_assert_str_eq(line.text, "mov    0xffa(%rip),%eax        # 402000");
	cr_assert(line.target == 0x402000 && !line.is_branch);
	line = line_of("\xff\x25\xfa\x0f\x00\x00", 6);
	cr_assert_str_eq(line.text, "jmp    *0xffa(%rip)        # 402000");
	cr_assert(line.target == 0x402000 && !line.is_branch);
	line = line_of("\xff\xd0", 2);
	cr_assert_str_eq(line.text, "call   *%rax");
	cr_assert(line.target == 0 && !line.is_branch);
	cr_assert(line_of("\x0f\x05", 2).is_system_call);
	cr_assert(line_of("\xcd\x80", 2).is_system_call);
	cr_assert(!line_of("\xcd\x81", 2).is_system_call);
}

/* What is no instruction takes one byte, as does one that is cut off. */
Test(disassembly, goes_on_behind_what_is_no_code)
{
	static const uint8_t bytes[] = { 0x06, 0x55, 0xe8, 0x00 };
	struct code_line lines[5];

	cr_assert_eq(disassemble(bytes, START, START + 4, lines, 5), 4);
	cr_assert_str_eq(lines[0].text, "(bad)");
	cr_assert_str_eq(lines[1].text, "push   %rbp");
	cr_assert_str_eq(lines[2].text, "(bad)");
	cr_assert_eq(lines[3].address, START + 3);
	cr_assert(code_lines_are_sound(lines, 4));
	cr_assert_eq(disassemble(bytes, START, START + 4, lines, 2), 2);
	cr_assert_eq(disassemble(bytes, START, START, lines, 2), 0);
}

Test(disassembly, of_others_is_checked)
{
	const struct code_line good[] = {
		{ .address = 1, .size = 2, .text = "a" },
		{ .address = 3, .size = 1, .is_branch = 1, .is_system_call = 1, .text = "b  c" },
	};
	struct code_line lines[8][2];

	cr_assert(code_lines_are_sound(good, 2));
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		memcpy(lines[i], good, sizeof(good));
	lines[0][1].address++;
	lines[1][1].size = 0;
	lines[2][1].is_branch = 2;
	lines[3][1].is_system_call = 2;
	lines[4][1].text[0] = '\0';
	lines[5][1].text[1] = '\n';
	memset(lines[6][1].text, 'x', sizeof(lines[6][1].text));
	lines[7][0].address = UINT64_MAX - 1;
	lines[7][1].address = 0;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		cr_assert(!code_lines_are_sound(lines[i], 2), "%zu", i);
}
