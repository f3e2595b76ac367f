// SPDX-License-Identifier: Apache-2.0
/* USDT probes of this program, and arguments as assemblers write them. */
#include "values/usdt.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sdt.h>
#include <unistd.h>

#include "base/as_it_is.h"
#include "base/cleanup.h"

static struct usdt_argument a[USDT_MAX_ARGUMENTS];

static struct dp_argument parse(const char *text, enum value_type type)
{
	cr_assert_eq(usdt_arguments_parse(text, a), 1, "%s", text);
	cr_assert_eq(a[0].type, type, "%s", text);
	cr_assert(usdt_argument_is_sound(&a[0]), "%s", text);
	return a[0].how;
}

Test(usdt, arguments_are_in_registers)
{
	struct dp_argument how = parse("-4@%eax", VALUE_S32);

	cr_assert(how.base == DP_BASE_REGISTER && how.reg == DP_RAX && how.n_derefs == 0);
	how = parse("8@%r12", VALUE_U64);
	cr_assert(how.reg == DP_R12 && how.index == 0);
	cr_assert_eq(parse("1@%sil", VALUE_U8).reg, DP_RSI);
	cr_assert_eq(parse("-2@%r9w", VALUE_S16).reg, DP_R9);
}

Test(usdt, arguments_are_constants)
{
	struct dp_argument how = parse("-8@$-5", VALUE_S64);

	cr_assert(how.base == DP_BASE_CONSTANT && how.add == -5 && how.n_derefs == 0);
	cr_assert_eq(parse("4@$0x10", VALUE_U32).add, 16);
	cr_assert_eq((uint64_t)parse("8@$18446744073709551615", VALUE_U64).add, UINT64_MAX);
}

Test(usdt, arguments_are_in_memory)
{
	struct dp_argument how = parse("-4@-16(%rbp)", VALUE_S32);

	cr_assert(how.base == DP_BASE_REGISTER && how.reg == DP_RBP && how.index == 0);
	cr_assert(how.n_derefs == 1 && how.derefs[0] == -16 && how.size == 4);
	how = parse("2@(%rax,%rcx,8)", VALUE_U16);
	cr_assert(how.reg == DP_RAX && how.index == DP_RCX + 1 && how.shift == 3);
	cr_assert(how.derefs[0] == 0 && how.size == 2);
	how = parse("8@4(%rdx,%r8)", VALUE_U64);
	cr_assert(how.reg == DP_RDX && how.index == DP_R8 + 1 && how.shift == 0);
	how = parse("8@64(,%rdi,4)", VALUE_U64);
	cr_assert(how.base == DP_BASE_CONSTANT && how.index == DP_RDI + 1 && how.shift == 2);
	cr_assert_eq(how.derefs[0], 64);
	how = parse("8f@-16(%rbp)", VALUE_F64);
	cr_assert(how.derefs[0] == -16 && how.size == 8);
	cr_assert_eq(parse("4f@%eax", VALUE_F32).reg, DP_RAX);
}

Test(usdt, others_are_told)
{
	static const char *const texts[] = { "8f@%xmm0",
					     "2f@%ax",
					     "4@%ah",
					     "8@x(%rip)",
					     "3@%eax",
					     "8@",
					     "8@(%rax,%rcx,3)",
					     "8@(%rax,%rsp)",
					     "8@(%rax",
					     "8@%raxx",
					     "8@(%rax)y",
					     "junk",
					     "8@$",
					     "8@9999999999(%rax)" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		parse(texts[i], VALUE_N_TYPES);
	cr_assert_eq(usdt_arguments_parse("8f@%xmm0 -4@%ebx", a), 2);
	cr_assert(a[0].type == VALUE_N_TYPES && a[1].type == VALUE_S32 && a[1].how.reg == DP_RBX);
	cr_assert_eq(usdt_arguments_parse("", a), 0);
	cr_assert_eq(usdt_arguments_parse("1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 "
					  "1@$1 1@$1",
					  a),
		     USDT_MAX_ARGUMENTS);
}

static AS_IT_IS void hit(int number, const char *text)
{
	DTRACE_PROBE2(dwarfprof_test, two, number, text);
	if (number > 3)
		DTRACE_PROBE1(dwarfprof_test, constant, 77);
}

Test(usdt, probes_are_those_of_the_notes)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_free_ struct usdt_place *places = NULL;
	volatile int few = 1;
	size_t n = 0;
	uint8_t code;

	hit(few, "");
	cr_assert_eq(usdt_find(fd, &places, &n), 0);
	cr_assert_eq(n, 2);
	cr_assert_str_eq(places[0].provider, "dwarfprof_test");
	cr_assert_str_eq(places[0].name, "two");
	cr_assert_eq(places[0].n_arguments, 2);
	cr_assert_eq(places[0].arguments[0].type, VALUE_S32);
	cr_assert_eq(places[0].semaphore, 0);
	cr_assert_str_eq(places[1].name, "constant");
	cr_assert_eq(places[1].arguments[0].how.add, 77);
	for (size_t i = 0; i < n; i++) {
		cr_assert_eq(pread(fd, &code, 1, (off_t)places[i].offset), 1);
		cr_assert_eq(code, 0x90, "a probe is a nop");
	}
}

Test(usdt, only_elf_files_have_any)
{
	_cleanup_close_ int fd = memfd_create("no ELF file", MFD_CLOEXEC);
	_cleanup_free_ struct usdt_place *places = NULL;
	size_t n;

	cr_assert_eq(usdt_find(fd, &places, &n), -ENOEXEC);
}
