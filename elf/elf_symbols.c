// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_symbols.h"

#include <gelf.h>
#include <limits.h>
#include <string.h>

#include "elf/elf_handles.h"

static Elf_Scn *find_table(const struct elf_file *file, bool local, GElf_Shdr *ret)
{
	const GElf_Word type = local ? SHT_SYMTAB : SHT_DYNSYM;
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(file->handles->elf, section)))
		/* Only the first table counts. */
		if (gelf_getshdr(section, ret) && ret->sh_type == type)
			return section;
	return NULL;
}

static int each_of_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, elf_symbol_fn fn,
			 void *arg)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	int result = 0;

	for (size_t i = 0; result == 0 && data && i < n && i < INT_MAX; i++) {
		struct elf_symbol symbol;
		GElf_Sym sym;
		int type;

		if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF)
			continue;
		type = GELF_ST_TYPE(sym.st_info);
		if (type != STT_FUNC && type != STT_OBJECT)
			continue;
		symbol = (struct elf_symbol){
			.name = elf_strptr(elf, header->sh_link, sym.st_name),
			.address = sym.st_value,
			.size = sym.st_size,
			.is_function = type == STT_FUNC,
		};
		if (symbol.name)
			result = fn(arg, &symbol);
	}
	return result;
}

int elf_symbols_each(const struct elf_file *file, bool local, elf_symbol_fn fn, void *arg)
{
	GElf_Shdr header;
	Elf_Scn *section = find_table(file, local, &header);

	return section ? each_of_table(file->handles->elf, section, &header, fn, arg) : 0;
}

static uint64_t find_variable(const struct elf_file *file, bool local, const char *name,
			      uint64_t size)
{
	GElf_Shdr header;
	Elf_Scn *section = find_table(file, local, &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	size_t n = data && data->d_buf ? data->d_size / sizeof(Elf64_Sym) : 0;

	for (size_t i = 0; i < n; i++) {
		const char *found;
		Elf64_Sym s;

		memcpy(&s, (const char *)data->d_buf + i * sizeof(s), sizeof(s));
		if (s.st_size != size || s.st_shndx == SHN_UNDEF ||
		    ELF64_ST_TYPE(s.st_info) != STT_OBJECT)
			continue;
		found = elf_strptr(file->handles->elf, header.sh_link, s.st_name);
		if (found && strcmp(found, name) == 0)
			return s.st_value;
	}
	return 0;
}

uint64_t elf_symbols_find_variable(const struct elf_file *file, const char *name, uint64_t size)
{
	uint64_t at = find_variable(file, false, name, size);

	return at != 0 ? at : find_variable(file, true, name, size);
}

uint64_t elf_find_section(const struct elf_file *file, const char *wanted, uint64_t size)
{
	Elf *elf = file->handles->elf;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return 0;
	while ((section = elf_nextscn(elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, &header) || header.sh_size != size ||
		    !(header.sh_flags & SHF_ALLOC))
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (name && strcmp(name, wanted) == 0)
			return header.sh_addr;
	}
	return 0;
}

const void *elf_bytes_at(const struct elf_file *file, uint64_t address, uint64_t size)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		const struct elf_segment *s = &file->segments[i];
		uint64_t at = address - s->address;

		if (address < s->address || at > s->file_size || size > s->file_size - at ||
		    s->offset + at > file->size || size > file->size - s->offset - at)
			continue;
		return file->bytes + s->offset + at;
	}
	return NULL;
}

bool elf_offset_of(const struct elf_file *file, uint64_t address, uint64_t *ret)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		const struct elf_segment *s = &file->segments[i];

		if (address >= s->address && address - s->address < s->file_size) {
			*ret = address - s->address + s->offset;
			return true;
		}
	}
	return false;
}
