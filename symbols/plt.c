// SPDX-License-Identifier: Apache-2.0
#include "symbols/plt.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/decompressed.h"
#include "elf/elf_open.h"
#include "symbols/stub_code.h"

/* The maximum number of stubs per file. */
#define MAX_STUBS ((size_t)1 << 18)
/* Longer names are truncated, since many stubs may share one; MAX_NAMES limits the total size. */
#define MAX_NAME 1000
#define MAX_NAMES ((size_t)16 << 20)
/*
 * The maximum size of sections to read. In a valid file sections do not overlap, and one that
 * several others refer to is read as often; but in a forged file thousands of them may be the same
 * bytes, which libelf may copy each time.
 */
#define MAX_BYTES ((uint64_t)512 << 20)
#define MAX_LOOKS 8

struct stub {
	uint64_t start, size;
	uint64_t slot;     /* address that it jumps through; 0: only its number is known */
	uint64_t number;   /* of the slot's relocation in .rela.plt */
	char *name;        /* NULL: not found */
	uint64_t resolver; /* for a slot without a name: the IFUNC resolver; 0: none */
};

struct plt {
	struct stub *stubs; /* by start once all are read */
	size_t n_stubs, stubs_size;
	size_t names_size;
	uint64_t left;    /* bytes of sections that may still be read */
	bool has_numbers; /* .rela.plt was found */
};

struct plt *plt_free(struct plt *plt)
{
	if (!plt)
		return NULL;
	for (size_t i = 0; i < plt->n_stubs; i++)
		free(plt->stubs[i].name);
	free(plt->stubs);
	free(plt);
	return NULL;
}

DEFINE_CLEANUP(struct plt *, plt_free)

static const char *section_name(Elf *elf, const GElf_Shdr *header)
{
	size_t names;
	const char *name =
		elf_getshdrstrndx(elf, &names) < 0 ? NULL : elf_strptr(elf, names, header->sh_name);

	return name ? name : "";
}

/* Whether a section may be read once more. */
static bool take(struct plt *plt, const GElf_Shdr *header)
{
	if (header->sh_size > plt->left)
		return false;
	plt->left -= header->sh_size;
	return true;
}

/*
 * Whether a section has terminated strings; otherwise elf_strptr() would search all of it each
 * time.
 */
static bool has_strings(struct plt *plt, Elf *elf, size_t index)
{
	Elf_Scn *scn = elf_getscn(elf, index);
	GElf_Shdr header;
	Elf_Data *data;

	if (!scn || !gelf_getshdr(scn, &header) || !take(plt, &header))
		return false;
	data = elf_rawdata(scn, NULL);
	return data && data->d_buf && data->d_size > 0 &&
	       ((const char *)data->d_buf)[data->d_size - 1] == '\0';
}

/* .plt, .plt.sec, .plt.got: each has stubs of one size, which linkers do not always record. */
static int add_stubs(struct plt *plt, Elf_Scn *scn, const GElf_Shdr *header)
{
	bool is_short =
		header->sh_entsize == 8 || (header->sh_entsize == 0 && header->sh_addralign == 8);
	size_t step = is_short ? 8 : code_stub_size;
	Elf_Data *code = take(plt, header) ? elf_rawdata(scn, NULL) : NULL;

	if (!code || !code->d_buf)
		return 0;
	for (size_t at = 0; at + step <= code->d_size && plt->n_stubs < MAX_STUBS; at += step) {
		struct stub stub = { .start = header->sh_addr + at, .size = step };

		if (!code_find_slot((const uint8_t *)code->d_buf + at, step, stub.start, &stub.slot,
				    &stub.number))
			continue;
		if (array_reserve(plt->stubs, plt->n_stubs, plt->stubs_size) < 0)
			return -ENOMEM;
		plt->stubs[plt->n_stubs++] = stub;
	}
	return 0;
}

static int slot_compare(const void *a, const void *b)
{
	const struct stub *x = a, *y = b;

	return (x->slot > y->slot) - (x->slot < y->slot);
}

static int start_compare(const void *a, const void *b)
{
	const struct stub *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int set_name(struct plt *plt, struct stub *stub, const char *name)
{
	int size;

	if (stub->name || plt->names_size > MAX_NAMES)
		return 0;
	size = asprintf(&stub->name, "%.*s@plt", MAX_NAME, name);
	if (size < 0) {
		stub->name = NULL;
		return -ENOMEM;
	}
	plt->names_size += (size_t)size;
	return 0;
}

/* The first stub with this slot, in stubs sorted by slot; n_stubs: there is none. */
static size_t first_with(const struct plt *plt, uint64_t slot)
{
	size_t lo = 0, hi = plt->n_stubs;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (plt->stubs[mid].slot < slot)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < plt->n_stubs && plt->stubs[lo].slot == slot ? lo : plt->n_stubs;
}

/* Several stubs may use one slot; all of them get the name. */
static int name_slot(struct plt *plt, uint64_t slot, const char *name)
{
	size_t i = first_with(plt, slot);
	int err = 0;

	if (slot == 0 || i == plt->n_stubs || plt->stubs[i].name)
		return 0;
	for (; err == 0 && i < plt->n_stubs && plt->stubs[i].slot == slot; i++)
		err = set_name(plt, &plt->stubs[i], name);
	return err;
}

static void set_resolver(struct plt *plt, uint64_t slot, uint64_t resolver)
{
	size_t i = first_with(plt, slot);

	if (i == plt->n_stubs || plt->stubs[i].resolver)
		return;
	for (; i < plt->n_stubs && plt->stubs[i].slot == slot; i++)
		plt->stubs[i].resolver = resolver;
}

/* A relocation section and the sections that it refers to. */
struct relocations {
	Elf_Data *data, *symbols;
	size_t n, strings;
};

static bool open_relocations(struct plt *plt, Elf *elf, Elf_Scn *scn, const GElf_Shdr *header,
			     struct relocations *ret)
{
	Elf_Scn *linked = elf_getscn(elf, header->sh_link);
	GElf_Shdr symbols;

	if (header->sh_type != SHT_RELA || !(header->sh_flags & SHF_ALLOC) || !take(plt, header))
		return false;
	*ret = (struct relocations){ .data = elf_getdata(scn, NULL) };
	if (!ret->data)
		return false;
	ret->n = ret->data->d_size / sizeof(Elf64_Rela);
	/* Without any symbol, as in a static program, no symbol table is linked. */
	if (header->sh_link > 0 && linked && gelf_getshdr(linked, &symbols) &&
	    take(plt, &symbols) && has_strings(plt, elf, symbols.sh_link)) {
		ret->symbols = elf_getdata(linked, NULL);
		ret->strings = symbols.sh_link;
	}
	return true;
}

/* The name in a relocation that writes a function's address to its slot, or "". */
static const char *relocation_name(Elf *elf, const struct relocations *r, const GElf_Rela *rela)
{
	const char *name = NULL;
	GElf_Sym symbol;

	if (r->symbols && gelf_getsym(r->symbols, (int)GELF_R_SYM(rela->r_info), &symbol))
		name = elf_strptr(elf, r->strings, symbol.st_name);
	return name ? name : "";
}

static int name_slots(struct plt *plt, Elf *elf, const struct relocations *r)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < r->n; i++) {
		GElf_Rela rela;
		enum code_slot slot;
		const char *name;

		if (!gelf_getrela(r->data, (int)i, &rela))
			break;
		slot = code_slot_of(GELF_R_TYPE(rela.r_info));
		if (slot == CODE_SLOT_RESOLVED) {
			set_resolver(plt, rela.r_offset, (uint64_t)rela.r_addend);
		} else if (slot == CODE_SLOT_NAMED) {
			name = relocation_name(elf, r, &rela);
			if (*name)
				err = name_slot(plt, rela.r_offset, name);
		}
	}
	return err;
}

/* Lazily resolved stubs push the number of their relocation, which identifies them. */
static void find_slots(struct plt *plt, const struct relocations *r)
{
	for (size_t i = 0; i < plt->n_stubs; i++) {
		struct stub *stub = &plt->stubs[i];
		GElf_Rela rela;

		if (stub->slot == 0 && stub->number < r->n &&
		    gelf_getrela(r->data, (int)stub->number, &rela))
			stub->slot = rela.r_offset;
	}
}

/* The symbol of an IFUNC has its resolver's address. */
static int name_resolved(struct plt *plt, Elf *elf, Elf_Scn *scn, const GElf_Shdr *header)
{
	bool is_good = take(plt, header) && has_strings(plt, elf, header->sh_link);
	Elf_Data *data = is_good ? elf_getdata(scn, NULL) : NULL;
	size_t n = data ? data->d_size / sizeof(Elf64_Sym) : 0;
	int err = 0;

	for (size_t i = 0; err == 0 && i < n; i++) {
		const char *name;
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol) ||
		    GELF_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC || symbol.st_value == 0)
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (name && *name)
			err = name_slot(plt, symbol.st_value, name);
	}
	return err;
}

static int for_each_section(struct plt *plt, Elf *elf,
			    int (*fn)(struct plt *plt, Elf *elf, Elf_Scn *scn,
				      const GElf_Shdr *header))
{
	Elf_Scn *scn = NULL;
	int err = 0;

	while (err == 0 && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr header;

		if (gelf_getshdr(scn, &header) && header.sh_type != SHT_NOBITS)
			err = fn(plt, elf, scn, &header);
	}
	return err;
}

static int read_stubs(struct plt *plt, Elf *elf, Elf_Scn *scn, const GElf_Shdr *header)
{
	return strncmp(section_name(elf, header), ".plt", 4) == 0 &&
			       (header->sh_flags & SHF_EXECINSTR) ?
		       add_stubs(plt, scn, header) :
		       0;
}

static int read_numbers(struct plt *plt, Elf *elf, Elf_Scn *scn, const GElf_Shdr *header)
{
	struct relocations r;

	if (!plt->has_numbers && strcmp(section_name(elf, header), ".rela.plt") == 0 &&
	    open_relocations(plt, elf, scn, header, &r)) {
		plt->has_numbers = true;
		find_slots(plt, &r);
	}
	return 0;
}

static int read_relocations(struct plt *plt, Elf *elf, Elf_Scn *scn, const GElf_Shdr *header)
{
	struct relocations r;

	return open_relocations(plt, elf, scn, header, &r) ? name_slots(plt, elf, &r) : 0;
}

static int read_symbols(struct plt *plt, Elf *elf, Elf_Scn *scn, const GElf_Shdr *header)
{
	return header->sh_type == SHT_DYNSYM || header->sh_type == SHT_SYMTAB ?
		       name_resolved(plt, elf, scn, header) :
		       0;
}

static int plt_read(struct plt *plt, Elf *elf)
{
	size_t size = 0, names;
	int err = -ENODATA;

	(void)elf_rawfile(elf, &size);
	plt->left = size < MAX_BYTES / MAX_LOOKS ? MAX_LOOKS * (uint64_t)size : MAX_BYTES;
	if (elf_getshdrstrndx(elf, &names) == 0 && has_strings(plt, elf, names))
		err = for_each_section(plt, elf, read_stubs);
	if (err == 0 && plt->n_stubs == 0)
		err = -ENODATA;
	if (err == 0)
		err = for_each_section(plt, elf, read_numbers);
	if (err < 0)
		return err;
	qsort(plt->stubs, plt->n_stubs, sizeof(*plt->stubs), slot_compare);
	err = for_each_section(plt, elf, read_relocations);
	/* The remaining stubs are for IFUNCs, found by their resolvers. */
	for (size_t i = 0; i < plt->n_stubs; i++)
		plt->stubs[i].slot = plt->stubs[i].resolver;
	qsort(plt->stubs, plt->n_stubs, sizeof(*plt->stubs), slot_compare);
	if (err == 0)
		err = for_each_section(plt, elf, read_symbols);
	qsort(plt->stubs, plt->n_stubs, sizeof(*plt->stubs), start_compare);
	return err;
}

int plt_new(int fd, const void *memory, size_t size, struct plt **ret)
{
	_cleanup_(plt_freep) struct plt *plt = NULL;
	_cleanup_elf_ Elf *elf = fd >= 0 ? elf_open(fd) : elf_open_memory(memory, size);
	int err;

	if (!elf || !decompressed_symbols_fit(elf))
		return -ENODATA;
	plt = calloc(1, sizeof(*plt));
	if (!plt)
		return -ENOMEM;
	err = plt_read(plt, elf);
	if (err == 0)
		*ret = steal_ptr(plt);
	return err;
}

const char *plt_find(const struct plt *plt, uint64_t address, uint64_t *ret_start)
{
	size_t lo = 0, hi = plt->n_stubs;
	const struct stub *stub;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (plt->stubs[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return NULL;
	stub = &plt->stubs[lo - 1];
	if (address - stub->start >= stub->size || !stub->name)
		return NULL;
	*ret_start = stub->start;
	return stub->name;
}
