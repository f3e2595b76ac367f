// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_symbols.h"

#include <gelf.h>
#include <limits.h>

#include "elf/elf_handles.h"

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
	const GElf_Word type = local ? SHT_SYMTAB : SHT_DYNSYM;
	Elf *elf = file->handles->elf;
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		/* Only the first table counts. */
		if (gelf_getshdr(section, &header) && header.sh_type == type)
			return each_of_table(elf, section, &header, fn, arg);
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
