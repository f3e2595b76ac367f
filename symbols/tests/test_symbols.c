// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "demangle.h"
#include "kallsyms.h"
#include "module.h"
#include "names.h"
#include "symtab.h"

static void expect_name(const char *symbol, const char *name)
{
	char *got = demangle(symbol);

	cr_assert_str_eq(got, name, "%s: %s", symbol, got);
	free(got);
}

Test(demangle, gives_names_as_written)
{
	expect_name("main", "main");
	expect_name("_ZN9wikipedia7article6formatEv", "wikipedia::article::format");
	expect_name("_ZNSt6vectorIiSaIiEE9push_backERKi",
		    "std::vector<int, std::allocator<int> >::push_back");
	/* Rust, the older scheme and the newer one, each with its hash left out */
	expect_name("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
		    "core::fmt::Write::write_fmt");
	expect_name("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
}

Test(demangle, takes_the_endings_of_clones_off)
{
	expect_name("reduce.constprop.0", "reduce");
	expect_name("reduce.isra.0.cold", "reduce");
	expect_name("_ZN1a1bEv.part.3", "a::b");
	expect_name("_ZN1a1bEv.llvm.12345", "a::b");
	expect_name(".cold", ".cold");
	expect_name("memcpy@@GLIBC_2.14", "memcpy");
	expect_name("@", "@");
}

Test(demangle, leaves_other_names_alone)
{
	char longest[10000];

	expect_name("_Zebra crossing", "_Zebra crossing");
	expect_name("_ZN", "_ZN");
	expect_name("", "");
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	memcpy(longest, "_ZN", 3);
	expect_name(longest, longest);
}

/* A function whose place in the file this test knows. */
__attribute__((noinline, used)) static int landmark(int n)
{
	return n * 3 + 1;
}

Test(symtab, finds_the_functions_of_this_program)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	extern const char __executable_start;
	uint64_t address =
		(uint64_t)(uintptr_t)&landmark - (uint64_t)(uintptr_t)&__executable_start;
	struct symtab *symtab;
	uint64_t offset;

	cr_assert(symtab_new(fd, NULL, 0, "/proc/self/exe", &symtab) == 0);
	cr_assert_str_eq(symtab_find(symtab, address, &offset), "landmark");
	cr_assert(offset == 0);
	cr_assert_str_eq(symtab_find(symtab, address + 1, &offset), "landmark");
	cr_assert(offset == 1);
	cr_assert(symtab_find(symtab, 1, &offset) == NULL);
	cr_assert(symtab_find(symtab, UINT64_MAX, &offset) == NULL);
	symtab_free(symtab);
	close(fd);
}

Test(symtab, refuses_what_is_no_elf_file)
{
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	struct symtab *symtab;

	cr_assert(symtab_new(fd, NULL, 0, "status", &symtab) < 0);
	cr_assert(symtab_new(-1, "status", 7, "status", &symtab) < 0);
	close(fd);
}

Test(module, reads_symbols_when_asked_and_stops_when_told)
{
	struct module module;
	uint64_t offset;
	extern const char __executable_start;
	uint64_t address =
		(uint64_t)(uintptr_t)&landmark - (uint64_t)(uintptr_t)&__executable_start;

	module_init(&module, strdup("/proc/self/exe"), "", open("/proc/self/exe", O_RDONLY));
	cr_assert_str_eq(module.name, "exe");
	cr_assert(module.symtab == NULL);
	cr_assert_str_eq(module_find_symbol(&module, address, &offset), "landmark");
	names_disable();
	cr_assert(module_find_symbol(&module, address, &offset) == NULL);
	module_done(&module);
}

static int kallsyms_from(const char *text, struct kallsyms **ret)
{
	char path[] = "/tmp/dwarfprof-test-XXXXXX";
	int fd = mkstemp(path), err;

	cr_assert(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	err = kallsyms_new(path, ret);
	unlink(path);
	return err;
}

Test(kallsyms, finds_functions_of_kernel_and_modules)
{
	struct kallsyms *k;
	uint64_t offset;

	cr_assert(kallsyms_from("ffffffff81000100 T second\n"
				"ffffffff81000000 T first\n"
				"ffffffff81000180 d data\n"
				"ffffffffa0000000 t in_module\t[ext4]\n",
				&k) == 0);
	cr_assert_str_eq(kallsyms_find(k, 0xffffffff81000010, &offset), "first");
	cr_assert(offset == 0x10);
	cr_assert_str_eq(kallsyms_find(k, 0xffffffff81000190, &offset), "second");
	cr_assert_str_eq(kallsyms_find(k, 0xffffffffa0000001, &offset), "in_module");
	cr_assert(kallsyms_find(k, 0x1000, &offset) == NULL);
	kallsyms_free(k);
}

Test(kallsyms, says_that_the_addresses_are_hidden)
{
	struct kallsyms *k;

	cr_assert(kallsyms_from("0000000000000000 T first\n", &k) == -EACCES);
	cr_assert(kallsyms_new("/nonexistent", &k) == -ENOENT);
}

/* What is being read when names are not wanted any more is given up; the kernel's stay out, too. */
Test(names, end_everywhere_at_once)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct symtab *symtab;
	struct kallsyms *k;
	uint64_t offset;

	cr_assert(kallsyms_from("ffffffff81000000 T first\n", &k) == 0);
	cr_assert_str_eq(kallsyms_find(k, 0xffffffff81000010, &offset), "first");
	names_disable();
	cr_assert(kallsyms_find(k, 0xffffffff81000010, &offset) == NULL);
	cr_assert(symtab_new(fd, NULL, 0, "/proc/self/exe", &symtab) == -ECANCELED);
	kallsyms_free(k);
	close(fd);
}
