// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_tls.h"

#include <gelf.h>
#include <limits.h>
#include <string.h>

#include "elf/elf_handles.h"
#include "elf/elf_linkage.h"

struct finder {
	const char *name;
	struct elf_tls *to;
};

static bool find_in_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *name,
			  uint64_t *ret)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	for (size_t i = 0; data && i < n && i < INT_MAX; i++) {
		const char *found;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF ||
		    GELF_ST_TYPE(sym.st_info) != STT_TLS)
			continue;
		found = elf_strptr(elf, header->sh_link, sym.st_name);
		if (found && strcmp(found, name) == 0) {
			*ret = sym.st_value;
			return true;
		}
	}
	return false;
}

/* The variable's place in the file's block. */
static bool find_symbol(Elf *elf, const char *name, uint64_t *ret)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM)
			return find_in_table(elf, section, &header, name, ret);
	return false;
}

/* The segment of the file's block. False: it is no program, and its block may be anywhere. */
static bool find_program_segment(Elf *elf, GElf_Phdr *ret)
{
	bool is_program = false, has_block = false;
	size_t n;

	if (elf_getphdrnum(elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n && i < INT_MAX; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf, (int)i, &header))
			break;
		if (header.p_type == PT_TLS) {
			*ret = header;
			has_block = true;
		}
		is_program |= header.p_type == PT_INTERP;
	}
	return is_program && has_block;
}

static int on_relocation(void *arg, const struct elf_relocation *r)
{
	struct finder *f = arg;
	enum elf_tls_kind kind = elf_tls_relocation(r->type);

	if (kind == ELF_TLS_NONE || strcmp(elf_relocation_symbol(r), f->name) != 0)
		return 0;
	*f->to = (struct elf_tls){ kind, r->slot };
	return 1;
}

void elf_tls_find(const struct elf_file *file, const char *name, struct elf_tls *ret)
{
	struct finder finder = { name, ret };
	struct elf_linkage *linkage;
	GElf_Phdr segment = { 0 };
	uint64_t address;

	*ret = (struct elf_tls){ ELF_TLS_NONE };
	if (!find_symbol(file->handles->elf, name, &address))
		return;
	if (find_program_segment(file->handles->elf, &segment)) {
		*ret = (struct elf_tls){ ELF_TLS_OFFSET,
					 elf_tls_program_offset(address, segment.p_memsz,
								segment.p_align) };
		return;
	}
	if (elf_linkage_new(-1, file->bytes, file->size, &linkage) < 0)
		return;
	elf_linkage_each_relocation(linkage, on_relocation, &finder);
	elf_linkage_free(linkage);
}
