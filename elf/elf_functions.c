// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_functions.h"

#include <errno.h>
#include <gelf.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf_open.h"
#include "limits/limits.h"

/* Only in code: elsewhere, a probe would change data. */
static int find_offset(Elf *elf, uint64_t address, uint64_t *ret)
{
	size_t n;

	if (elf_getphdrnum(elf, &n) < 0 || n > ELF_MAX_SEGMENTS)
		return -ENOENT;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || !(p.p_flags & PF_X) ||
		    address < p.p_vaddr || address - p.p_vaddr >= p.p_filesz)
			continue;
		*ret = address - p.p_vaddr + p.p_offset;
		return 0;
	}
	return -ENOENT;
}

static uint64_t max_name_bytes(Elf *elf, size_t string_table)
{
	GElf_Shdr header;

	if (!gelf_getshdr(elf_getscn(elf, string_table), &header))
		return 0;
	return header.sh_size * ELF_NAMES_SHARING + ELF_NAMES_FREE;
}

static int each_of_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, elf_function_fn fn,
			 void *arg)
{
	Elf_Data *data = elf_getdata(section, NULL);
	uint64_t bytes = 0, max_bytes = max_name_bytes(elf, header->sh_link);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	uint64_t unit = 1;
	int result = 0;

	for (size_t i = 0; result == 0 && data && i < n && i < INT_MAX; i++) {
		struct elf_function f;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym))
			continue;
		unit += GELF_ST_TYPE(sym.st_info) == STT_FILE;
		if (GELF_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_UNDEF)
			continue;
		f = (struct elf_function){
			.symbol = elf_strptr(elf, header->sh_link, sym.st_name),
			.size = sym.st_size,
			.unit = GELF_ST_BIND(sym.st_info) == STB_LOCAL ? unit : 0,
		};
		bytes += f.symbol ? strlen(f.symbol) : 0;
		if (bytes > max_bytes)
			return -EFBIG;
		if (f.symbol && *f.symbol && find_offset(elf, sym.st_value, &f.offset) == 0)
			result = fn(arg, &f);
	}
	return result;
}

int elf_functions_each(int fd, elf_function_fn fn, void *arg)
{
	_cleanup_elf_ Elf *elf = elf_open(fd);
	bool has_dynsym = false, has_symtab = false;
	Elf_Scn *section = NULL;
	int result = 0;

	if (!elf)
		return -ENOEXEC;
	while (result == 0 && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		bool *has;

		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB))
			continue;
		has = header.sh_type == SHT_DYNSYM ? &has_dynsym : &has_symtab;
		if (!*has)
			result = each_of_table(elf, section, &header, fn, arg);
		*has = true;
	}
	return result;
}

int elf_functions_locate(int fd, uint64_t *addresses, size_t *n)
{
	_cleanup_elf_ Elf *elf = elf_open(fd);
	size_t found = 0;

	if (!elf)
		return -ENOEXEC;
	for (size_t i = 0; i < *n; i++)
		if (find_offset(elf, addresses[i], &addresses[found]) == 0)
			found++;
	*n = found;
	return 0;
}
