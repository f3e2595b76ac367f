// SPDX-License-Identifier: Apache-2.0
/*
 * Stubs and relocations of this program's file, compared with what the dynamic linker has mapped of
 * it; and files whose tables repeat.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/elf_linkage.h"
#include "elf/tests/elf_bytes.h"

static struct elf_linkage *linkage;
static int self;

static void open_self(void)
{
	self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	cr_assert_eq(elf_linkage_new(self, NULL, 0, &linkage), 0);
}

static void close_self(void)
{
	elf_linkage_free(linkage);
	close(self);
}

TestSuite(linkage, .init = open_self, .fini = close_self);

static uint64_t mapped(ElfW(Sxword) tag)
{
	for (const ElfW(Dyn) *d = _DYNAMIC; d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return d->d_un.d_val;
	return 0;
}

static int find_bias(struct dl_phdr_info *info, size_t size, void *ret)
{
	*(uint64_t *)ret = info->dlpi_addr;
	return 1;
}

/* Which of the mapped relocations were met. */
struct met {
	const ElfW(Rela) * relocations;
	size_t n, n_met, n_symbols;
};

static int meet(void *arg, const struct elf_relocation *r)
{
	const ElfW(Sym) *symbols = (const void *)mapped(DT_SYMTAB);
	const char *strings = (const char *)mapped(DT_STRTAB), *symbol;
	struct met *met = arg;
	const ElfW(Rela) *expected = &met->relocations[met->n_met];

	if (met->n_met == met->n || r->slot != expected->r_offset)
		return 0;
	cr_expect_eq(r->type, ELF64_R_TYPE(expected->r_info));
	cr_expect_eq(r->addend, (uint64_t)expected->r_addend);
	symbol = strings + symbols[ELF64_R_SYM(expected->r_info)].st_name;
	cr_expect_str_eq(elf_relocation_symbol(r), symbol);
	met->n_symbols += *symbol != '\0';
	met->n_met++;
	return 0;
}

static void expect_all(uint64_t table, uint64_t size)
{
	struct met met = { .relocations = (const void *)table, .n = size / sizeof(ElfW(Rela)) };

	cr_assert_gt(met.n, 0);
	cr_assert_eq(elf_linkage_each_relocation(linkage, meet, &met), 0);
	cr_expect_eq(met.n_met, met.n);
	cr_expect_gt(met.n_symbols, 0);
}

Test(linkage, has_the_relocations_that_the_dynamic_linker_applies)
{
	expect_all(mapped(DT_RELA), mapped(DT_RELASZ));
	expect_all(mapped(DT_JMPREL), mapped(DT_PLTRELSZ));
}

Test(linkage, knows_slots_by_their_number)
{
	const ElfW(Rela) *relocations = (const void *)mapped(DT_JMPREL);
	size_t n = mapped(DT_PLTRELSZ) / sizeof(*relocations);

	cr_assert_gt(n, 1);
	for (size_t i = 0; i < n; i++)
		cr_expect_eq(elf_linkage_slot(linkage, i), relocations[i].r_offset);
	cr_expect_eq(elf_linkage_slot(linkage, n), 0);
	cr_expect_eq(elf_linkage_slot(linkage, UINT64_MAX), 0);
}

static int compare_stubs(void *n, const struct elf_stubs *stubs)
{
	uint64_t bias = 0;

	dl_iterate_phdr(find_bias, &bias);
	cr_expect(memcmp((const void *)(bias + stubs->address), stubs->code, stubs->size) == 0);
	/* As linkers write them */
	cr_expect(stubs->size > 0 && stubs->size % stubs->align == 0);
	++*(size_t *)n;
	return 0;
}

Test(linkage, has_the_stubs_that_are_mapped)
{
	size_t n = 0;

	cr_assert_eq(elf_linkage_each_stubs(linkage, compare_stubs, &n), 0);
	cr_expect_gt(n, 0);
}

static int end_at_once(void *n, const struct elf_stubs *stubs)
{
	(void)stubs;
	++*(size_t *)n;
	return 17;
}

static int end_at_third(void *n, const struct elf_relocation *relocation)
{
	(void)relocation;
	return ++*(size_t *)n == 3 ? 17 : 0;
}

Test(linkage, is_read_until_its_reader_has_enough)
{
	size_t n = 0;

	cr_expect_eq(elf_linkage_each_stubs(linkage, end_at_once, &n), 17);
	cr_expect_eq(n, 1);
	n = 0;
	cr_expect_eq(elf_linkage_each_relocation(linkage, end_at_third, &n), 17);
	cr_expect_eq(n, 3);
}

/* A file whose section headers but two are those of one symbol table, of two symbols. */
#define N_SECTIONS 1000

struct repeating {
	Elf64_Ehdr header;
	Elf64_Shdr sections[N_SECTIONS];
	Elf64_Sym symbols[2];
	char strings[16];
};

static void make_repeating(struct repeating *ret)
{
	const Elf64_Shdr table = {
		.sh_type = SHT_SYMTAB,
		.sh_offset = offsetof(struct repeating, symbols),
		.sh_size = sizeof(ret->symbols),
		.sh_entsize = sizeof(Elf64_Sym),
		.sh_addralign = 8,
		.sh_link = N_SECTIONS - 1,
	};

	*ret = (struct repeating){
		.header = elf_header(0, N_SECTIONS),
		.symbols = { { 1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0x1000, 16 },
			     { 5, ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC), 0, 1, 0x2000, 16 } },
		.strings = "\0one\0other",
	};
	for (size_t i = 1; i < N_SECTIONS - 1; i++)
		ret->sections[i] = table;
	ret->sections[N_SECTIONS - 1] =
		(Elf64_Shdr){ .sh_type = SHT_STRTAB,
			      .sh_offset = offsetof(struct repeating, strings),
			      .sh_size = sizeof(ret->strings) };
}

static int count_resolver(void *n, const char *symbol, uint64_t address)
{
	cr_expect_str_eq(symbol, "other");
	cr_expect_eq(address, 0x2000);
	++*(size_t *)n;
	return 0;
}

Test(linkage_of_forged_files, is_not_read_without_end)
{
	static struct repeating file;
	/* Whatever is read, together eight times the file: the names, then tables with strings */
	const size_t left = 8 * sizeof(file) - sizeof(file.strings),
		     each = sizeof(file.symbols) + sizeof(file.strings);
	size_t n = 0;

	make_repeating(&file);
	cr_assert_eq(elf_linkage_new(-1, &file, sizeof(file), &linkage), 0);
	cr_assert_gt(left / each, N_SECTIONS);
	for (int i = 0; i < 9; i++)
		cr_expect_eq(elf_linkage_each_resolver(linkage, count_resolver, &n), 0);
	cr_expect_eq(n, left / each);
	elf_linkage_free(linkage);
}

Test(linkage_of_forged_files, needs_names_of_sections)
{
	static struct repeating file;

	linkage = NULL;
	make_repeating(&file);
	memset(file.strings, 'x', sizeof(file.strings));
	cr_expect_eq(elf_linkage_new(-1, &file, sizeof(file), &linkage), -ENODATA);
	file.header = elf_header(0, 0);
	cr_expect_eq(elf_linkage_new(-1, &file, sizeof(file), &linkage), -ENODATA);
	cr_expect_eq(elf_linkage_new(-1, "no ELF file", 11, &linkage), -ENODATA);
	cr_expect_null(linkage);
}
