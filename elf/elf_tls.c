// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_tls.h"

#include <gelf.h>
#include <limits.h>
#include <string.h>

#include "elf/elf_handles.h"
#include "elf/elf_linkage.h"
#include "elf/elf_symbols.h"
#include "limits/limits.h"

/* What a file is. */
struct layout {
	GElf_Phdr block; /* its PT_TLS segment */
	bool has_block;
	bool has_interpreter; /* a program that is linked dynamically; but some libraries have one, too */
	bool is_program; /* in any case */
};

struct finder {
	const struct elf_file *file;
	const char *name;
	uint64_t address; /* in the file's block */
	struct dp_tls *to;
};

static bool find_in_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *name,
			  uint64_t *ret)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	unsigned int n_variables = 0;

	for (size_t i = 0; data && i < n && i < INT_MAX && n_variables < ELF_TLS_MAX_VARIABLES;
	     i++) {
		const char *found;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF ||
		    GELF_ST_TYPE(sym.st_info) != STT_TLS)
			continue;
		n_variables++;
		found = elf_strptr(elf, header->sh_link, sym.st_name);
		if (found && strcmp(found, name) == 0) {
			*ret = sym.st_value;
			return true;
		}
	}
	return false;
}

/* The variable's place in the file's block, by the first table of this type. */
static bool find_symbol(Elf *elf, GElf_Word type, const char *name, uint64_t *ret)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == type)
			return find_in_table(elf, section, &header, name, ret);
	return false;
}

/* Linkers mark position-independent programs since binutils 2.26. */
static bool is_marked_program(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data;
		GElf_Dyn entry;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; data && gelf_getdyn(data, i, &entry); i++) {
			if (entry.d_tag == DT_FLAGS_1)
				return (entry.d_un.d_val & DF_1_PIE) != 0;
			if (entry.d_tag == DT_NULL || i == INT_MAX - 1)
				break;
		}
		return false;
	}
	return false;
}

static struct layout layout_of(Elf *elf)
{
	struct layout l = { 0 };
	GElf_Ehdr head;
	size_t n;

	if (!gelf_getehdr(elf, &head) || elf_getphdrnum(elf, &n) < 0)
		return l;
	for (size_t i = 0; i < n && i < INT_MAX; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf, (int)i, &header))
			break;
		if (header.p_type == PT_TLS) {
			l.block = header;
			l.has_block = true;
		}
		l.has_interpreter |= header.p_type == PT_INTERP;
	}
	l.is_program = l.has_block && (head.e_type == ET_EXEC || is_marked_program(elf));
	return l;
}

/* Whether a relocation is for the variable. */
static bool is_for(const struct finder *f, const struct elf_relocation *r, enum dp_tls_kind kind)
{
	const char *symbol = elf_relocation_symbol(r);
	const void *offset;

	if (*symbol)
		return strcmp(symbol, f->name) == 0;
	/* A variable that no other file's can replace needs no name, and its offset no relocation. */
	if (kind != DP_TLS_MODULE)
		return r->addend == f->address;
	offset = elf_bytes_at(f->file, r->slot + sizeof(f->address), sizeof(f->address));
	return offset && memcmp(offset, &f->address, sizeof(f->address)) == 0;
}

/* Until glibc 2.33, a descriptor may be filled only when it is used. */
static int on_relocation(void *arg, const struct elf_relocation *r)
{
	struct finder *f = arg;
	enum dp_tls_kind kind = elf_tls_relocation(r->type);

	if (kind == DP_TLS_NONE || !is_for(f, r, kind))
		return 0;
	*f->to = (struct dp_tls){ .value = r->slot, .kind = kind };
	return kind != DP_TLS_DESCRIPTOR;
}

static void find_slot(struct finder *f)
{
	struct elf_linkage *linkage;

	if (elf_linkage_new(-1, f->file->bytes, f->file->size, &linkage) < 0)
		return;
	elf_linkage_each_relocation(linkage, on_relocation, f);
	elf_linkage_free(linkage);
}

void elf_tls_find(const struct elf_file *file, const char *name, struct dp_tls *ret)
{
	struct finder finder = { .file = file, .name = name, .to = ret };
	Elf *elf = file->handles->elf;
	struct layout l = layout_of(elf);
	bool is_static = l.is_program && !l.has_interpreter;

	*ret = (struct dp_tls){ .kind = DP_TLS_NONE };
	if (!l.has_block || (!find_symbol(elf, SHT_DYNSYM, name, &finder.address) &&
			     (!is_static || !find_symbol(elf, SHT_SYMTAB, name, &finder.address))))
		return;
	if (!l.is_program)
		find_slot(&finder);
	if (ret->kind == DP_TLS_NONE && (l.is_program || l.has_interpreter))
		*ret = (struct dp_tls){
			.value = elf_tls_program_offset(finder.address, l.block.p_memsz,
							l.block.p_align),
			.kind = DP_TLS_OFFSET,
		};
}
