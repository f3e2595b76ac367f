// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_linkage.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "elf/decompressed.h"
#include "elf/elf_open.h"
#include "limits/limit_hits.h"
#include "limits/limits.h"

/* A relocation section and the sections that it refers to. */
struct elf_relocations {
	Elf *elf;
	Elf_Data *data, *symbols;
	size_t n, strings;
};

struct elf_linkage {
	Elf *elf;
	size_t names;                   /* the section with the names of all */
	uint64_t left;                  /* bytes of sections that may still be read */
	bool is_small;                  /* the file, which decides how many */
	struct elf_relocations numbers; /* .rela.plt, once it was searched for */
	bool numbers_tried;
};

/* Whether a section may be read once more. */
static bool take(struct elf_linkage *l, const GElf_Shdr *header)
{
	if (header->sh_size > l->left) {
		if (l->is_small)
			LIMIT_HIT(ELF_LINKAGE_MAX_LOOKS);
		else
			LIMIT_HIT(ELF_LINKAGE_MAX_BYTES);
		return false;
	}
	l->left -= header->sh_size;
	return true;
}

/*
 * Whether a section has terminated strings; otherwise elf_strptr() would search all of it each
 * time.
 */
static bool has_strings(struct elf_linkage *l, size_t index)
{
	Elf_Scn *scn = elf_getscn(l->elf, index);
	GElf_Shdr header;
	Elf_Data *data;

	if (!scn || !gelf_getshdr(scn, &header) || !take(l, &header))
		return false;
	data = elf_rawdata(scn, NULL);
	return data && data->d_buf && data->d_size > 0 &&
	       ((const char *)data->d_buf)[data->d_size - 1] == '\0';
}

int elf_linkage_new(int fd, const void *memory, size_t size, struct elf_linkage **ret)
{
	struct elf_linkage *l = calloc(1, sizeof(*l));
	size_t bytes = 0;

	if (!l)
		return -ENOMEM;
	l->elf = fd >= 0 ? elf_open(fd) : elf_open_memory(memory, size);
	if (l->elf)
		(void)elf_rawfile(l->elf, &bytes);
	l->is_small = bytes < ELF_LINKAGE_MAX_BYTES / ELF_LINKAGE_MAX_LOOKS;
	l->left = l->is_small ? ELF_LINKAGE_MAX_LOOKS * (uint64_t)bytes : ELF_LINKAGE_MAX_BYTES;
	if (!l->elf || !decompressed_symbols_fit(l->elf) ||
	    elf_getshdrstrndx(l->elf, &l->names) < 0 || !has_strings(l, l->names)) {
		elf_linkage_free(l);
		return -ENODATA;
	}
	*ret = l;
	return 0;
}

struct elf_linkage *elf_linkage_free(struct elf_linkage *l)
{
	if (!l)
		return NULL;
	elf_end(l->elf);
	free(l);
	return NULL;
}

static const char *section_name(const struct elf_linkage *l, const GElf_Shdr *header)
{
	const char *name = elf_strptr(l->elf, l->names, header->sh_name);

	return name ? name : "";
}

/* The next section with bytes. */
static Elf_Scn *next_section(const struct elf_linkage *l, Elf_Scn *scn, GElf_Shdr *ret)
{
	while ((scn = elf_nextscn(l->elf, scn)))
		if (gelf_getshdr(scn, ret) && ret->sh_type != SHT_NOBITS)
			break;
	return scn;
}

static bool has_stubs(const struct elf_linkage *l, const GElf_Shdr *header)
{
	return strncmp(section_name(l, header), ".plt", 4) == 0 &&
	       (header->sh_flags & SHF_EXECINSTR);
}

int elf_linkage_each_stubs(struct elf_linkage *l, elf_stubs_fn fn, void *arg)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	int result = 0;

	while (result == 0 && (scn = next_section(l, scn, &header))) {
		Elf_Data *code =
			has_stubs(l, &header) && take(l, &header) ? elf_rawdata(scn, NULL) : NULL;

		if (code && code->d_buf)
			result = fn(arg, &(struct elf_stubs){
						 .address = header.sh_addr,
						 .size = code->d_size,
						 .code = code->d_buf,
						 .entry_size = header.sh_entsize,
						 .align = header.sh_addralign,
					 });
	}
	return result;
}

static bool open_relocations(struct elf_linkage *l, Elf_Scn *scn, const GElf_Shdr *header,
			     struct elf_relocations *ret)
{
	Elf_Scn *linked = elf_getscn(l->elf, header->sh_link);
	GElf_Shdr symbols;

	if (header->sh_type != SHT_RELA || !(header->sh_flags & SHF_ALLOC) || !take(l, header))
		return false;
	*ret = (struct elf_relocations){ .elf = l->elf, .data = elf_getdata(scn, NULL) };
	if (!ret->data)
		return false;
	ret->n = ret->data->d_size / sizeof(Elf64_Rela);
	/* Without any symbol, as in a static program, no symbol table is linked. */
	if (header->sh_link > 0 && linked && gelf_getshdr(linked, &symbols) && take(l, &symbols) &&
	    has_strings(l, symbols.sh_link)) {
		ret->symbols = elf_getdata(linked, NULL);
		ret->strings = symbols.sh_link;
	}
	return true;
}

static void open_numbers(struct elf_linkage *l)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	l->numbers_tried = true;
	while ((scn = next_section(l, scn, &header)))
		if (strcmp(section_name(l, &header), ".rela.plt") == 0 &&
		    open_relocations(l, scn, &header, &l->numbers))
			return;
}

uint64_t elf_linkage_slot(struct elf_linkage *l, uint64_t number)
{
	GElf_Rela rela;

	if (!l->numbers_tried)
		open_numbers(l);
	return number < l->numbers.n && gelf_getrela(l->numbers.data, (int)number, &rela) ?
		       rela.r_offset :
		       0;
}

static int each_of_table(const struct elf_relocations *table, elf_relocation_fn fn, void *arg)
{
	GElf_Rela rela;
	int result = 0;

	for (size_t i = 0; result == 0 && i < table->n; i++) {
		if (!gelf_getrela(table->data, (int)i, &rela))
			break;
		result = fn(arg, &(struct elf_relocation){
					 .slot = rela.r_offset,
					 .type = GELF_R_TYPE(rela.r_info),
					 .addend = (uint64_t)rela.r_addend,
					 .table = table,
					 .symbol = GELF_R_SYM(rela.r_info),
				 });
	}
	return result;
}

int elf_linkage_each_relocation(struct elf_linkage *l, elf_relocation_fn fn, void *arg)
{
	struct elf_relocations table;
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	int result = 0;

	while (result == 0 && (scn = next_section(l, scn, &header)))
		if (open_relocations(l, scn, &header, &table))
			result = each_of_table(&table, fn, arg);
	return result;
}

const char *elf_relocation_symbol(const struct elf_relocation *r)
{
	const char *name = NULL;
	GElf_Sym symbol;

	if (r->table->symbols && gelf_getsym(r->table->symbols, (int)r->symbol, &symbol))
		name = elf_strptr(r->table->elf, r->table->strings, symbol.st_name);
	return name ? name : "";
}

static int each_resolver_of(struct elf_linkage *l, Elf_Scn *scn, const GElf_Shdr *header,
			    elf_resolver_fn fn, void *arg)
{
	bool is_good = take(l, header) && has_strings(l, header->sh_link);
	Elf_Data *data = is_good ? elf_getdata(scn, NULL) : NULL;
	size_t n = data ? data->d_size / sizeof(Elf64_Sym) : 0;
	int result = 0;

	for (size_t i = 0; result == 0 && i < n; i++) {
		const char *name;
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol) ||
		    GELF_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC || symbol.st_value == 0)
			continue;
		name = elf_strptr(l->elf, header->sh_link, symbol.st_name);
		if (name && *name)
			result = fn(arg, name, symbol.st_value);
	}
	return result;
}

int elf_linkage_each_resolver(struct elf_linkage *l, elf_resolver_fn fn, void *arg)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	int result = 0;

	while (result == 0 && (scn = next_section(l, scn, &header)))
		if (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB)
			result = each_resolver_of(l, scn, &header, fn, arg);
	return result;
}
