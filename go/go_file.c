// SPDX-License-Identifier: Apache-2.0
#include "go/go_file.h"

#include <errno.h>
#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "go/build_info.h"
#include "limits/limit_hits.h"
#include "limits/limits.h"

/* Bytes of the file that are loaded as one segment. */
struct piece {
	uint64_t address, size;
	const uint8_t *bytes;
	bool writable;
};

/* State of the search for the tables. */
struct search {
	const struct go_source *source;
	struct piece *pieces;
	size_t n_pieces, pieces_size;
	/* Relocations whose sum the dynamic linker adds to the load address: Elf64_Rela */
	const uint8_t *relocations;
	uint64_t n_relocations;
	struct piece table; /* .gopclntab */
	/* Limits of candidates for a header and for a module, because examining one takes time. */
	unsigned int headers_left, modules_left;
};

/* The names of the section: in programs at fixed addresses, and in others. */
static const char *const sections[] = { ".gopclntab", ".data.rel.ro.gopclntab" };
/* Sections that identify Go code if another linker has put the table between other data. */
static const char *const marks[] = { ".note.go.buildid", ".go.buildinfo" };

static const uint8_t *file_bytes(const struct search *s, uint64_t offset, uint64_t size)
{
	const struct go_source *f = s->source;

	return offset <= f->size && size <= f->size - offset ? f->bytes + offset : NULL;
}

/* Returns the loaded bytes at an address, and how many follow. */
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

/* Reads the place and size of relocations from the dynamic section. */
static void read_dynamic(struct search *s, const struct go_segment *p)
{
	const uint8_t *bytes = file_bytes(s, p->offset, p->size);
	uint64_t address = 0, size = 0, room;

	for (uint64_t at = 0; bytes && at + sizeof(Elf64_Dyn) <= p->size; at += sizeof(Elf64_Dyn)) {
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

static bool exceeds_limits(const struct search *s, uint64_t loaded)
{
	if (s->n_pieces == GO_MAX_PIECES)
		LIMIT_HIT(GO_MAX_PIECES);
	if (loaded > GO_MAX_LOADED)
		LIMIT_HIT(GO_MAX_LOADED);
	return s->n_pieces == GO_MAX_PIECES || loaded > GO_MAX_LOADED;
}

static int read_pieces(struct search *s)
{
	const struct go_source *f = s->source;
	uint64_t loaded = 0;

	for (size_t i = 0; i < f->n_segments; i++) {
		const struct go_segment *p = &f->segments[i];
		const uint8_t *bytes = p->is_dynamic ? NULL : file_bytes(s, p->offset, p->size);

		if (!bytes)
			continue;
		loaded += p->size;
		if (exceeds_limits(s, loaded))
			return -EBADMSG;
		if (array_reserve(s->pieces, s->n_pieces, s->pieces_size) < 0)
			return -ENOMEM;
		s->pieces[s->n_pieces++] =
			(struct piece){ p->address, p->size, bytes, p->is_writable };
	}
	for (size_t i = 0; i < f->n_segments && !s->relocations; i++)
		if (f->segments[i].is_dynamic)
			read_dynamic(s, &f->segments[i]);
	return 0;
}

static bool is_relative(const struct search *s, uint64_t i, Elf64_Rela *ret)
{
	memcpy(ret, s->relocations + i * sizeof(*ret), sizeof(*ret));
	return ELF64_R_TYPE(ret->r_info) == R_X86_64_RELATIVE;
}

/* Reads a word of the file as it is when loaded at address 0. */
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

/* runtime/symtab.go, struct moduledata: members at the same offset since Go 1.16. */
enum {
	MODULE_TABLE = 0,
	MODULE_NAMES = 8,
	MODULE_FUNCTIONS = 128,
	MODULE_N_FUNCTIONS = 136,
	MODULE_TEXT = 176,
	MODULE_TEXT_END = 184,
};

/* go:func.* is behind these members, at an offset that depends on the version. */
#define MODULE_REST 192
#define MODULE_END 400

/* True if this is the table's struct moduledata. */
static bool is_module(struct search *s, const struct pclntab *t, uint64_t module)
{
	uint64_t table, names, functions, n, text, end;

	if (s->modules_left == 0) {
		LIMIT_HIT(GO_MAX_MODULES);
		return false;
	}
	s->modules_left--;
	return word_at(s, module + MODULE_TABLE, &table) && table == s->table.address &&
	       word_at(s, module + MODULE_NAMES, &names) && names == table + t->names &&
	       word_at(s, module + MODULE_FUNCTIONS, &functions) &&
	       functions == table + t->functions && word_at(s, module + MODULE_N_FUNCTIONS, &n) &&
	       n == t->n_functions + 1 && word_at(s, module + MODULE_TEXT, &text) &&
	       word_at(s, module + MODULE_TEXT_END, &end) && text != 0 && text < end;
}

/* Searches writable or other segments for a module, which starts with the table's address. */
static bool find_module_in(struct search *s, const struct pclntab *t, bool writable, uint64_t *ret)
{
	for (size_t i = 0; i < s->n_pieces; i++) {
		const struct piece *p = &s->pieces[i];

		for (uint64_t at = -p->address & 7; p->writable == writable && at + 8 <= p->size;
		     at += 8) {
			if (memcmp(p->bytes + at, &s->table.address, 8) == 0 &&
			    is_module(s, t, p->address + at)) {
				*ret = p->address + at;
				return true;
			}
		}
	}
	return false;
}

/* The module starts with the table's address, relocated or not. */
static bool find_module(struct search *s, const struct pclntab *t, uint64_t *ret)
{
	Elf64_Rela r;

	for (uint64_t i = 0; i < s->n_relocations; i++) {
		if (is_relative(s, i, &r) && (uint64_t)r.r_addend == s->table.address &&
		    is_module(s, t, r.r_offset)) {
			*ret = r.r_offset;
			return true;
		}
	}
	/* Writable segments first: they are the smaller part of a file. */
	return find_module_in(s, t, true, ret) || find_module_in(s, t, false, ret);
}

/* Functions examined to recognise the data, and how many with inlined calls are enough. */
#define CHECKED_FUNCTIONS 4096
#define CHECKED_TREES 64
#define CHECKED_CALLS 16384

/* True if this is the functions' data: all examined inlined calls are then valid. */
static bool is_data(const struct pclntab *t, const struct go_data *data)
{
	uint64_t step = t->n_functions / CHECKED_FUNCTIONS + 1;
	unsigned int calls = CHECKED_CALLS;
	int n = 0;

	for (uint64_t i = 0; i < t->n_functions && n < CHECKED_TREES; i += step) {
		struct pclntab_function f;
		struct inline_tree tree;
		uint64_t at;

		if (pclntab_function(t, i, &f) < 0)
			return false;
		if (pclntab_more_values(t, &f, PCLNTAB_VALUES_INLINED) == 0 ||
		    !pclntab_data(t, &f, PCLNTAB_DATA_INLINED, &at))
			continue;
		if (!inline_tree_init(&tree, t, &f, data) || !inline_tree_is_sound(&tree, &calls))
			return false;
		n++;
	}
	return n > 0;
}

/* Finds the base of functions' data, which is one of the addresses in the module. */
static void find_data(const struct search *s, uint64_t module, struct go_file *ret)
{
	for (uint64_t at = MODULE_REST; at < MODULE_END; at += 8) {
		struct go_data data = { 0 };
		uint64_t address;

		if (!word_at(s, module + at, &address))
			continue;
		data.bytes = loaded_bytes(s, address, &data.size);
		if (data.bytes && is_data(&ret->table, &data)) {
			ret->data = data;
			return;
		}
	}
}

/* Go 1.16 has addresses of data, all in one segment. */
static void find_addressed_data(const struct search *s, struct go_file *ret)
{
	for (size_t i = 0; i < s->n_pieces; i++) {
		const struct piece *p = &s->pieces[i];
		const struct go_data data = { p->bytes, p->size, p->address };

		if (is_data(&ret->table, &data)) {
			ret->data = data;
			return;
		}
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

/* Finds the table by its section. *ret_go: without a section it may still be in the file. */
static bool find_section(struct search *s, bool *ret_go)
{
	const struct go_source *f = s->source;

	*ret_go = !f->has_sections;
	for (size_t i = 0; i < f->n_sections; i++) {
		const struct go_section *section = &f->sections[i];

		if (is_one_of(section->name, marks, ARRAY_SIZE(marks)))
			*ret_go = true;
		if (!is_one_of(section->name, sections, ARRAY_SIZE(sections)))
			continue;
		s->table = (struct piece){ section->address, section->size,
					   file_bytes(s, section->offset, section->size), false };
		return s->table.bytes != NULL;
	}
	return false;
}

/* Without a section, searches for the header, which is unlikely to occur by chance. */
static bool find_header(struct search *s)
{
	struct pclntab t;
	uint64_t module;

	for (size_t i = 0; i < s->n_pieces; i++) {
		const struct piece *p = &s->pieces[i];

		for (uint64_t at = -p->address & 7; at + 8 <= p->size; at += 8) {
			static const uint8_t rest[] = { 0xff, 0xff, 0xff, 0, 0, 1, 8 };

			if (memcmp(p->bytes + at + 1, rest, sizeof(rest)) != 0 ||
			    pclntab_init(&t, p->bytes + at, p->size - at, 0) < 0)
				continue;
			if (s->headers_left == 0) {
				LIMIT_HIT(GO_MAX_HEADERS);
				return false;
			}
			s->table = (struct piece){ p->address + at, p->size - at, p->bytes + at,
						   false };
			s->headers_left--;
			if (find_module(s, &t, &module))
				return true;
		}
	}
	return false;
}

/* It is in writable data, which linkers put behind the code. */
static unsigned int find_minor(const struct search *s)
{
	unsigned int minor = 0;

	for (size_t i = s->n_pieces; i > 0 && minor == 0; i--) {
		const struct piece *p = &s->pieces[i - 1];

		minor = build_info_minor(p->bytes, p->size, p->address);
	}
	return minor;
}

static int find_tables(struct search *s, struct go_file *ret)
{
	uint64_t module, text = 0;
	bool has_section, go;
	int err = 0;

	has_section = find_section(s, &go);
	if (!has_section && !go)
		return -ENOENT;
	err = read_pieces(s);
	if (err < 0)
		return err;
	if (!has_section && !find_header(s))
		return -ENOENT;
	err = pclntab_init(&ret->table, s->table.bytes, s->table.size, 0);
	if (err < 0)
		return err;
	if (ret->table.layout == PCLNTAB_GO_1_16) {
		err = s->n_relocations > 0 ? relocate(s, ret) : 0;
		if (err == 0)
			find_addressed_data(s, ret);
		return err;
	}
	if (ret->table.layout == PCLNTAB_GO_1_20)
		ret->minor = find_minor(s);
	if (find_module(s, &ret->table, &module)) {
		(void)word_at(s, module + MODULE_TEXT, &text);
		ret->table.text = text;
		find_data(s, module, ret);
	}
	return ret->table.text != 0 ? 0 : -EBADMSG;
}

int go_file_init(struct go_file *ret, const struct go_source *source)
{
	struct search s = {
		.source = source,
		.headers_left = GO_MAX_HEADERS,
		.modules_left = GO_MAX_MODULES,
	};
	int err;

	*ret = (struct go_file){ 0 };
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
