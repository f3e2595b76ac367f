// SPDX-License-Identifier: Apache-2.0
#include "symbols/symtab.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/decompressed.h"
#include "limits/limit_hits.h"
#include "limits/limits.h"
#include "symbols/demangle.h"
#include "symbols/dwfl_file.h"
#include "symbols/function_starts.h"
#include "symbols/names.h"
#include "symbols/stub_code.h"

DEFINE_CLEANUP(struct function_starts *, function_starts_free)

struct function {
	uint64_t start, end;
	const char *symbol; /* in libdwfl's string table, or in strings */
	int rank;           /* of several names with this start, the highest rank wins */
	uint32_t sized : 1;
	uint32_t section : 31; /* in the program; 0: in another file, which has all symbols */
};

struct symtab {
	Dwfl *dwfl;
	char *strings;              /* NULL: names are libdwfl's */
	struct function *functions; /* sorted by start, unique */
	size_t n_functions, functions_size;
	uint64_t memory, max_memory; /* symtab_memory() */
	Elf *stripped;               /* the program while its symbols are read, if it is stripped */
};

/* The end of a symbol's section, which limits a symbol without a size. */
static uint64_t section_end(Elf *elf, GElf_Word index)
{
	GElf_Shdr header;

	if (!elf || !gelf_getshdr(elf_getscn(elf, index), &header))
		return 0;
	return header.sh_addr + header.sh_size;
}

static bool section_is_code(Elf *elf, GElf_Word index)
{
	GElf_Shdr header;

	return elf && gelf_getshdr(elf_getscn(elf, index), &header) &&
	       (header.sh_flags & SHF_EXECINSTR);
}

/* A stripped file has only the symbols that others use. */
static bool is_stripped(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &header) && header.sh_type == SHT_SYMTAB)
			return false;
	return true;
}

/* Assembly code often leaves out the type; but local symbols without one are labels. */
static bool is_function(const GElf_Sym *sym, Elf *elf, GElf_Word section)
{
	int type = GELF_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	return type == STT_NOTYPE && GELF_ST_BIND(sym->st_info) != STB_LOCAL &&
	       section_is_code(elf, section);
}

/* The prefix of glibc's internal names for its own functions. */
#define GLIBC_INTERNAL "__GI_"

/* Prefers typed to untyped, sized to unsized, public to private, and `write` to `__write`. */
static int symbol_rank(const GElf_Sym *sym, const char *name)
{
	int rank = 0;

	if (GELF_ST_TYPE(sym->st_info) != STT_NOTYPE)
		rank += 1000;
	if (sym->st_size > 0)
		rank += 500;
	if (GELF_ST_BIND(sym->st_info) == STB_GLOBAL)
		rank += 200;
	else if (GELF_ST_BIND(sym->st_info) == STB_WEAK)
		rank += 100;
	/* The prefix of a mangled name has no meaning. */
	if (mangling_find(name) == MANGLING_NONE)
		rank -= 10 * (int)strspn(name, "_");
	if (strncmp(name, GLIBC_INTERNAL, strlen(GLIBC_INTERNAL)) == 0)
		rank -= 50;
	return rank;
}

static int symtab_add(struct symtab *t, const GElf_Sym *sym, const char *name, Elf *elf,
		      GElf_Word section)
{
	uint64_t left = t->max_memory - t->memory;
	size_t length = strnlen(name, left);

	/* Many symbols may have the same long name. */
	if (left < sizeof(*t->functions) + length + 1) {
		LIMIT_HIT(MODULE_SYMBOL_SHARE);
		return -E2BIG;
	}
	t->memory += sizeof(*t->functions) + length + 1;
	if (array_reserve(t->functions, t->n_functions, t->functions_size) < 0)
		return -ENOMEM;
	t->functions[t->n_functions++] = (struct function){
		.start = sym->st_value,
		.end = sym->st_size ? sym->st_value + sym->st_size : section_end(elf, section),
		.symbol = name,
		.rank = symbol_rank(sym, name),
		.sized = sym->st_size > 0,
		.section = elf == t->stripped && section < SHN_LORESERVE ? section : 0,
	};
	return 0;
}

static int function_compare(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return strcmp(x->symbol, y->symbol);
}

/* Sorts the functions and keeps the best name for each address. */
static void symtab_sort(struct symtab *t)
{
	size_t kept = 0;

	if (t->n_functions == 0)
		return;
	qsort(t->functions, t->n_functions, sizeof(*t->functions), function_compare);
	for (size_t i = 1; i < t->n_functions; i++)
		if (t->functions[i].start != t->functions[kept].start)
			t->functions[++kept] = t->functions[i];
	t->n_functions = kept + 1;
	/* A function without a size ends where the next one starts. */
	for (size_t i = 0; i + 1 < t->n_functions; i++)
		if (!t->functions[i].sized && t->functions[i].end > t->functions[i + 1].start)
			t->functions[i].end = t->functions[i + 1].start;
}

/* It ends where unwind information says, or else before the next function that it describes. */
static bool bound_by_unwind(struct function *f, const struct function_starts *starts)
{
	uint64_t start, end;
	bool is_described = function_starts_find(starts, f->start, &start, &end) == 0;

	if (!is_described)
		end = function_starts_next(starts, f->start);
	if (end < f->end)
		f->end = end;
	return is_described;
}

/* It extends up to where another function might begin. */
static void bound_by_padding(struct function *f, Elf *elf)
{
	Elf_Scn *scn = elf_getscn(elf, f->section);
	Elf_Data *code = elf_rawdata(scn, NULL);
	GElf_Shdr header;
	uint64_t at, size;

	if (!code || !code->d_buf || !gelf_getshdr(scn, &header) || f->start < header.sh_addr ||
	    f->start - header.sh_addr >= code->d_size)
		return;
	at = f->start - header.sh_addr;
	size = code->d_size - at < SYMTAB_MAX_UNSIZED ? code->d_size - at : SYMTAB_MAX_UNSIZED;
	if (f->end - f->start < size)
		size = f->end - f->start;
	f->end = f->start + code_until_padding((const uint8_t *)code->d_buf + at, size, f->start);
}

/*
 * Limits functions without a size, such as those in assembly code, to what is certain. In a
 * stripped file, the symbol of the next function may be missing, too.
 */
static int symtab_bound(struct symtab *t, const struct dwfl_source *source, Elf *elf)
{
	_cleanup_(function_starts_freep) struct function_starts *starts = NULL;
	bool tried = false;

	for (size_t i = 0; i < t->n_functions; i++) {
		struct function *f = &t->functions[i];

		if (f->sized || f->start >= f->end)
			continue;
		if (!tried && function_starts_new(source->fd, source->memory, source->size,
						  &starts) == -ENOMEM)
			return -ENOMEM;
		tried = true;
		if (!(starts && bound_by_unwind(f, starts)) && f->section > 0)
			bound_by_padding(f, elf);
	}
	return 0;
}

static int symtab_read(struct symtab *t, Dwfl_Module *module, const struct dwfl_source *source)
{
	int n = dwfl_module_getsymtab(module);
	GElf_Addr bias;
	Elf *program = dwfl_module_getelf(module, &bias);

	t->stripped = program && is_stripped(program) ? program : NULL;

	for (int i = 1; i < n; i++) {
		GElf_Word section = 0;
		GElf_Addr address;
		GElf_Sym sym;
		Elf *elf = NULL;
		const char *name;
		int err;

		if (names_disabled(source->names))
			return -ECANCELED;
		name = dwfl_module_getsym_info(module, i, &sym, &address, &section, &elf, NULL);
		if (!name || name[0] == '\0' || !is_function(&sym, elf, section))
			continue;
		err = symtab_add(t, &sym, name, elf, section);
		if (err < 0)
			return err;
	}
	symtab_sort(t);
	return program ? symtab_bound(t, source, program) : 0;
}

int symtab_new(const struct dwfl_source *source, uint64_t max_memory, struct symtab **ret)
{
	struct symtab *t = calloc(1, sizeof(*t));
	Dwfl_Module *module;
	GElf_Addr bias;
	int err;

	if (!t)
		return -ENOMEM;
	t->max_memory = max_memory;
	err = dwfl_file_open(source, &t->dwfl, &module);
	/* libdwfl falls back to .gnu_debugdata for symbols. */
	if (err == 0 && !decompressed_debugdata_fits(dwfl_module_getelf(module, &bias)))
		err = -E2BIG;
	if (err == 0)
		err = symtab_read(t, module, source);
	if (err < 0) {
		symtab_free(t);
		return err;
	}
	*ret = t;
	return 0;
}

struct symtab *symtab_free(struct symtab *t)
{
	if (!t)
		return NULL;
	free(t->functions);
	dwfl_end(t->dwfl);
	free(t->strings);
	free(t);
	return NULL;
}

uint64_t symtab_memory(const struct symtab *t)
{
	return t->memory;
}

int symtab_detach(struct symtab *t)
{
	size_t size = 1;
	char *to;

	if (t->strings)
		return 0;
	for (size_t i = 0; i < t->n_functions; i++)
		size += strlen(t->functions[i].symbol) + 1;
	to = t->strings = malloc(size);
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_functions; i++) {
		struct function *f = &t->functions[i];
		char *end = stpcpy(to, f->symbol);

		f->symbol = to;
		to = end + 1;
	}
	dwfl_end(t->dwfl);
	t->dwfl = NULL;
	return 0;
}

/* The number of functions that start at or below the address. */
static size_t symtab_upper_bound(const struct symtab *t, uint64_t address)
{
	size_t lo = 0, hi = t->n_functions;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->functions[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static const struct function *symtab_function(const struct symtab *t, uint64_t address)
{
	size_t n = symtab_upper_bound(t, address);

	for (size_t i = n; i > 0 && n - i < SYMTAB_MAX_NESTED; i--)
		if (address < t->functions[i - 1].end)
			return &t->functions[i - 1];
	return NULL;
}

const char *symtab_find_symbol(const struct symtab *t, uint64_t address)
{
	const struct function *f = symtab_function(t, address);

	return f ? f->symbol : NULL;
}

int symtab_find_start(const struct symtab *t, uint64_t address, uint64_t *ret)
{
	const struct function *f = symtab_function(t, address);

	if (!f)
		return -ENOENT;
	*ret = f->start;
	return 0;
}
