// SPDX-License-Identifier: Apache-2.0
#include "go_file.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Bytes of the file that are loaded together. */
struct piece {
	uint64_t address, size;
	const uint8_t *bytes;
	bool writable;
};

/* What is looked at while the tables are looked for. */
struct search {
	Elf *elf;
	const uint8_t *file;
	size_t file_size;
	struct piece *pieces;
	size_t n_pieces, pieces_size;
	/* What the dynamic linker adds the load address to, with the sum: Elf64_Rela */
	const uint8_t *relocations;
	uint64_t n_relocations;
	struct piece table; /* .gopclntab */
};

/*
 * The names that the section has: of programs, and of those that are loaded anywhere and
 * that no other linker has joined with other constants.
 */
static const char *const table_names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };

/* Only Go's linker writes these. */
static const char *const go_names[] = { ".note.go.buildid", ".go.buildinfo" };

static const uint8_t *file_bytes(const struct search *s, uint64_t offset, uint64_t size)
{
	return offset <= s->file_size && size <= s->file_size - offset ? s->file + offset : NULL;
}

/* The loaded bytes at an address, and how many there are from there on. */
static const uint8_t *loaded_bytes(const struct search *s, uint64_t address, uint64_t *ret_size)
{
	for (size_t i = 0; i < s->n_pieces; i++) {
		const struct piece *p = &s->pieces[i];

		if (address < p->address || address - p->address >= p->size)
			continue;
		*ret_size = p->size - (address - p->address);
		return p->bytes + (address - p->address);
	}
	return NULL;
}

/* Dynamic section: where relocations are, and how many bytes. */
static void read_dynamic(struct search *s, const GElf_Phdr *p)
{
	const uint8_t *bytes = file_bytes(s, p->p_offset, p->p_filesz);
	uint64_t address = 0, size = 0, room;

	for (uint64_t at = 0; bytes && at + sizeof(Elf64_Dyn) <= p->p_filesz;
	     at += sizeof(Elf64_Dyn)) {
		Elf64_Dyn d;

		memcpy(&d, bytes + at, sizeof(d));
		if (d.d_tag == DT_RELA)
			address = d.d_un.d_ptr;
		else if (d.d_tag == DT_RELASZ)
			size = d.d_un.d_val;
	}
	s->relocations = address != 0 ? loaded_bytes(s, address, &room) : NULL;
	if (s->relocations)
		s->n_relocations = (size < room ? size : room) / sizeof(Elf64_Rela);
}

static int read_pieces(struct search *s)
{
	GElf_Phdr p;
	size_t n;

	if (elf_getphdrnum(s->elf, &n) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		const uint8_t *bytes;

		if (!gelf_getphdr(s->elf, (int)i, &p) || p.p_type != PT_LOAD)
			continue;
		bytes = file_bytes(s, p.p_offset, p.p_filesz);
		if (!bytes)
			continue;
		if (array_reserve(s->pieces, s->n_pieces, s->pieces_size) < 0)
			return -ENOMEM;
		s->pieces[s->n_pieces++] =
			(struct piece){ p.p_vaddr, p.p_filesz, bytes, p.p_flags & PF_W };
	}
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(s->elf, (int)i, &p) && p.p_type == PT_DYNAMIC)
			read_dynamic(s, &p);
	return 0;
}

static bool is_relative(const struct search *s, uint64_t i, Elf64_Rela *ret)
{
	memcpy(ret, s->relocations + i * sizeof(*ret), sizeof(*ret));
	return ELF64_R_TYPE(ret->r_info) == R_X86_64_RELATIVE;
}

/* A word of the loaded file, as it is when the file is loaded at address 0. */
static bool word_at(const struct search *s, uint64_t address, uint64_t *ret)
{
	uint64_t size;
	const uint8_t *bytes = loaded_bytes(s, address, &size);
	Elf64_Rela r;

	if (!bytes || size < sizeof(*ret))
		return false;
	memcpy(ret, bytes, sizeof(*ret));
	for (uint64_t i = 0; i < s->n_relocations; i++) {
		if (is_relative(s, i, &r) && r.r_offset == address)
			*ret = (uint64_t)r.r_addend;
	}
	return true;
}

/* runtime/symtab.go, struct moduledata: what stands in the same place since Go 1.16. */
enum {
	MODULE_TABLE = 0,
	MODULE_NAMES = 8,
	MODULE_FUNCTIONS = 128,
	MODULE_N_FUNCTIONS = 136,
	MODULE_TEXT = 176,
	MODULE_TEXT_END = 184,
};

/* And what does not: go:func.*, in Go 1.18, 1.20, 1.27. It is behind the start of constants. */
static const uint64_t module_data[] = { 304, 320, 344 };

/* Is it the struct moduledata that the table belongs to? */
static bool is_module(const struct search *s, const struct pclntab *t, uint64_t module)
{
	uint64_t table, names, functions, n, text, end;

	return word_at(s, module + MODULE_TABLE, &table) && table == s->table.address &&
	       word_at(s, module + MODULE_NAMES, &names) && names == table + t->names &&
	       word_at(s, module + MODULE_FUNCTIONS, &functions) &&
	       functions == table + t->functions && word_at(s, module + MODULE_N_FUNCTIONS, &n) &&
	       n == t->n_functions + 1 && word_at(s, module + MODULE_TEXT, &text) &&
	       word_at(s, module + MODULE_TEXT_END, &end) && text != 0 && text < end;
}

/* The module is what begins with the table's address, relocated or not. */
static bool find_module(const struct search *s, const struct pclntab *t, uint64_t *ret)
{
	Elf64_Rela r;

	for (uint64_t i = 0; i < s->n_relocations; i++) {
		if (is_relative(s, i, &r) && (uint64_t)r.r_addend == s->table.address &&
		    is_module(s, t, r.r_offset)) {
			*ret = r.r_offset;
			return true;
		}
	}
	for (size_t i = 0; i < s->n_pieces; i++) {
		const struct piece *p = &s->pieces[i];

		for (uint64_t at = -p->address & 7; at + 8 <= p->size; at += 8) {
			if (memcmp(p->bytes + at, &s->table.address, 8) == 0 &&
			    is_module(s, t, p->address + at)) {
				*ret = p->address + at;
				return true;
			}
		}
	}
	return false;
}

/* Functions' data lies behind the start of the constants, which stands in front of its address. */
static void find_data(const struct search *s, uint64_t module, const struct pclntab *t,
		      struct go_file *ret)
{
	uint64_t constants, data, size;

	for (size_t i = 0; i < ARRAY_SIZE(module_data); i++) {
		const uint8_t *bytes;

		if ((t->layout == PCLNTAB_GO_1_18) != (i == 0))
			continue;
		if (!word_at(s, module + module_data[i] - 8, &constants) ||
		    !word_at(s, module + module_data[i], &data) || constants == 0 ||
		    data < constants)
			continue;
		bytes = loaded_bytes(s, data, &size);
		if (!bytes)
			continue;
		ret->data = bytes;
		ret->data_size = size;
		return;
	}
}

/* Go 1.16 has addresses in the table itself. */
static int relocate(const struct search *s, struct go_file *file)
{
	Elf64_Rela r;

	file->relocated = malloc(s->table.size);
	if (!file->relocated)
		return -ENOMEM;
	memcpy(file->relocated, s->table.bytes, s->table.size);
	for (uint64_t i = 0; i < s->n_relocations; i++) {
		if (is_relative(s, i, &r) && r.r_offset >= s->table.address && s->table.size >= 8 &&
		    r.r_offset - s->table.address <= s->table.size - 8)
			memcpy(file->relocated + (r.r_offset - s->table.address), &r.r_addend, 8);
	}
	file->table.data = file->relocated;
	return 0;
}

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Find the table's section. False: it has none; *ret_may_have says whether there is a table. */
static bool find_section(struct search *s, bool *ret_may_have)
{
	Elf_Scn *scn = elf_nextscn(s->elf, NULL);
	size_t names;

	*ret_may_have = !scn;
	if (elf_getshdrstrndx(s->elf, &names) < 0)
		return false;
	for (; scn; scn = elf_nextscn(s->elf, scn)) {
		GElf_Shdr h;
		const char *name;

		if (!gelf_getshdr(scn, &h) || h.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(s->elf, names, h.sh_name);
		if (!name)
			continue;
		*ret_may_have |= is_one_of(name, go_names, ARRAY_SIZE(go_names));
		if (!is_one_of(name, table_names, ARRAY_SIZE(table_names)))
			continue;
		s->table.address = h.sh_addr;
		s->table.size = h.sh_size;
		s->table.bytes = file_bytes(s, h.sh_offset, h.sh_size);
		return s->table.bytes != NULL;
	}
	return false;
}

/*
 * Where it has no section of its own: by its header, and by the module that names its
 * address, which both are not met by chance.
 */
static bool find_header(struct search *s)
{
	struct pclntab t;
	uint64_t module;

	for (size_t i = 0; i < s->n_pieces; i++) {
		const struct piece *p = &s->pieces[i];

		for (uint64_t at = -p->address & 31; at + 8 <= p->size; at += 32) {
			static const uint8_t rest[] = { 0xff, 0xff, 0xff, 0, 0, 1, 8 };

			if (memcmp(p->bytes + at + 1, rest, sizeof(rest)) != 0 ||
			    pclntab_init(&t, p->bytes + at, p->size - at, 0) < 0)
				continue;
			s->table = (struct piece){ p->address + at, p->size - at, p->bytes + at,
						   false };
			if (find_module(s, &t, &module))
				return true;
		}
	}
	return false;
}

static int find_tables(struct search *s, struct go_file *ret)
{
	uint64_t module, text = 0;
	bool may_have, has_section = find_section(s, &may_have);
	int err = 0;

	if (!has_section && !may_have)
		return -ENOENT;
	err = read_pieces(s);
	if (err < 0)
		return err;
	if (!has_section && !find_header(s))
		return -ENOENT;
	err = pclntab_init(&ret->table, s->table.bytes, s->table.size, 0);
	if (err < 0)
		return err;
	if (find_module(s, &ret->table, &module)) {
		(void)word_at(s, module + MODULE_TEXT, &text);
		if (ret->table.layout != PCLNTAB_GO_1_16) {
			ret->table.text = text;
			find_data(s, module, &ret->table, ret);
		}
	}
	if (ret->table.layout == PCLNTAB_GO_1_16)
		return s->n_relocations > 0 ? relocate(s, ret) : 0;
	return ret->table.text != 0 ? 0 : -EBADMSG;
}

int go_file_init(struct go_file *ret, Elf *elf)
{
	struct search s = { .elf = elf };
	int err;

	*ret = (struct go_file){ 0 };
	s.file = (const uint8_t *)elf_rawfile(elf, &s.file_size);
	if (!s.file)
		return -ENOENT;
	err = find_tables(&s, ret);
	free(s.pieces);
	if (err < 0)
		go_file_done(ret);
	return err;
}

void go_file_done(struct go_file *file)
{
	free(file->relocated);
	*file = (struct go_file){ 0 };
}
