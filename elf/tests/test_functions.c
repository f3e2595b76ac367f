// SPDX-License-Identifier: Apache-2.0
/* Functions of files whose symbol tables repeat. */
#include "elf/elf_functions.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

/* A file whose `n_tables` headers share one table of `n` functions that share one name. */
static int write_file_with(uint32_t flags, size_t n_tables, size_t n, size_t name_size)
{
	const size_t symbols = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
	const size_t names = symbols + n * sizeof(Elf64_Sym);
	const size_t headers = (names + name_size + 2 + 7) & ~(size_t)7;
	const size_t size = headers + (n_tables + 2) * sizeof(Elf64_Shdr);
	_cleanup_free_ char *bytes = calloc(1, size);
	Elf64_Sym *symbol = (void *)(bytes + symbols);
	Elf64_Shdr *header = (void *)(bytes + headers);
	int fd = memfd_create("functions", MFD_CLOEXEC);

	const Elf64_Ehdr file = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shoff = headers,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (Elf64_Half)(n_tables + 2),
	};
	const Elf64_Phdr segment = {
		.p_type = PT_LOAD, .p_flags = flags, .p_filesz = size, .p_memsz = size
	};

	memcpy(bytes, &file, sizeof(file));
	memcpy(bytes + sizeof(file), &segment, sizeof(segment));
	for (size_t i = 0; i < n; i++)
		symbol[i] = (Elf64_Sym){ .st_name = 1,
					 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					 .st_shndx = 1,
					 .st_value = 64,
					 .st_size = 9 };
	memset(bytes + names + 1, 'f', name_size);
	header[1] =
		(Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = names, .sh_size = name_size + 2 };
	for (size_t i = 0; i < n_tables; i++)
		header[i + 2] = (Elf64_Shdr){ .sh_type = i % 2 ? SHT_SYMTAB : SHT_DYNSYM,
					      .sh_offset = symbols,
					      .sh_size = n * sizeof(Elf64_Sym),
					      .sh_entsize = sizeof(Elf64_Sym),
					      .sh_addralign = 8,
					      .sh_link = 1 };
	cr_assert_eq(write(fd, bytes, size), (ssize_t)size);
	return fd;
}

static int write_file(size_t n_tables, size_t n, size_t name_size)
{
	return write_file_with(PF_R | PF_X, n_tables, n, name_size);
}

static int count(void *arg, const struct elf_function *f)
{
	cr_assert_eq(f->symbol[0], 'f');
	cr_assert_eq(f->offset, 64);
	cr_assert_eq(f->size, 9);
	cr_assert_eq(f->unit, 0);
	++*(size_t *)arg;
	return 0;
}

Test(functions, are_those_of_one_table_of_each_kind)
{
	_cleanup_close_ int fd = write_file(1000, 3, 5);
	size_t n = 0;

	cr_assert_eq(elf_functions_each(fd, count, &n), 0);
	cr_assert_eq(n, 6);
}

Test(functions, have_names_of_limited_length)
{
	_cleanup_close_ int fd = write_file(1, 300, 1 << 20);
	size_t n = 0;

	cr_assert_eq(elf_functions_each(fd, count, &n), -EFBIG);
	cr_assert_eq(n, 17);
}

Test(functions, are_where_the_file_has_code)
{
	_cleanup_close_ int code = write_file(1, 1, 5);
	_cleanup_close_ int data = write_file_with(PF_R, 1, 1, 5);
	uint64_t addresses[] = { 1 << 20, 64 };
	size_t n = 0, n_addresses = 2;

	cr_assert_eq(elf_functions_each(data, count, &n), 0);
	cr_expect_eq(n, 0);
	cr_assert_eq(elf_functions_locate(code, addresses, &n_addresses), 0);
	cr_expect(n_addresses == 1 && addresses[0] == 64);
	cr_assert_eq(elf_functions_locate(data, addresses, &n_addresses), 0);
	cr_expect_eq(n_addresses, 0);
}
