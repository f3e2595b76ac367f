// SPDX-License-Identifier: Apache-2.0
#include "symtab.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "demangle.h"
#include "names.h"

struct function {
	uint64_t start, end;
	const char *symbol; /* in libdwfl's string table */
	char *name;         /* demangled on first use */
	int rank;           /* among those that start here, the highest gives the name */
	bool sized;
};

struct symtab {
	Dwfl *dwfl;
	struct function *functions; /* sorted by start, one for each start */
	size_t n_functions, functions_size;
};

/* How far back to look for a function that encloses a smaller one. */
#define MAX_NESTED 16

/* The end of the section that a symbol lies in: the bound of one without a size. */
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

/* Assembly code often leaves the type out. */
static bool is_function(const GElf_Sym *sym, Elf *elf, GElf_Word section)
{
	int type = GELF_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	return type == STT_NOTYPE && section_is_code(elf, section);
}

/* Typed before untyped, sized before unsized, public before private, `write` before `__write`. */
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
	/* The prefix of a mangled name is not the author's. */
	if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0)
		rank -= 10 * (int)strspn(name, "_");
	return rank;
}

static int symtab_add(struct symtab *t, const GElf_Sym *sym, const char *name, Elf *elf,
		      GElf_Word section)
{
	if (array_reserve(t->functions, t->n_functions, t->functions_size) < 0)
		return -ENOMEM;
	t->functions[t->n_functions++] = (struct function){
		.start = sym->st_value,
		.end = sym->st_size ? sym->st_value + sym->st_size : section_end(elf, section),
		.symbol = name,
		.rank = symbol_rank(sym, name),
		.sized = sym->st_size > 0,
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

/* Sort, and keep the best name of each address. */
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

static int symtab_read(struct symtab *t, Dwfl_Module *module)
{
	int n = dwfl_module_getsymtab(module);

	for (int i = 1; i < n; i++) {
		GElf_Word section = 0;
		GElf_Addr address;
		GElf_Sym sym;
		Elf *elf = NULL;
		const char *name;

		if (names_disabled())
			return -ECANCELED;
		name = dwfl_module_getsym_info(module, i, &sym, &address, &section, &elf, NULL);
		if (!name || name[0] == '\0' || !is_function(&sym, elf, section))
			continue;
		if (symtab_add(t, &sym, name, elf, section) < 0)
			return -ENOMEM;
	}
	symtab_sort(t);
	return 0;
}

/* libdw (0.188, __libdw_open_elf_memory()) writes through the null pointer that libelf returns. */
static bool is_elf(const void *memory, size_t size)
{
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)memory, size);
	elf_end(elf);
	return elf != NULL;
}

static Dwfl_Module *report_module(Dwfl *dwfl, int fd, const void *memory, size_t size,
				  const char *path)
{
	Dwfl_Module *module;
	int own;

	if (fd < 0 && !is_elf(memory, size))
		return NULL;
	if (fd < 0)
		return dwfl_report_offline_memory(dwfl, path, path, (char *)memory, size);
	own = dup(fd); /* libdwfl closes what it is given */
	if (own < 0)
		return NULL;
	module = dwfl_report_offline(dwfl, path, path, own);
	if (!module)
		close(own);
	return module;
}

/*
 * libdwfl's own search ends at the servers in DEBUGINFOD_URLS. Nothing is
 * fetched while a profile is made: with them set, only local build-id
 * directories are searched.
 */
static int find_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **ret_file)
{
	if (names_disabled())
		return -1;
	if (getenv("DEBUGINFOD_URLS"))
		return dwfl_build_id_find_debuginfo(module, user, name, base, file, link, crc,
						    ret_file);
	return dwfl_standard_find_debuginfo(module, user, name, base, file, link, crc, ret_file);
}

int symtab_new(int fd, const void *memory, size_t size, const char *path, struct symtab **ret)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	struct symtab *t = calloc(1, sizeof(*t));
	Dwfl_Module *module;
	int err;

	if (!t)
		return -ENOMEM;
	t->dwfl = dwfl_begin(&callbacks);
	module = t->dwfl ? report_module(t->dwfl, fd, memory, size, path) : NULL;
	if (!module || dwfl_report_end(t->dwfl, NULL, NULL) != 0) {
		symtab_free(t);
		return -ENOEXEC;
	}
	err = symtab_read(t, module);
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
	for (size_t i = 0; i < t->n_functions; i++)
		free(t->functions[i].name);
	free(t->functions);
	dwfl_end(t->dwfl);
	free(t);
	return NULL;
}

/* Number of functions that start at or below the address. */
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

const char *symtab_find(struct symtab *t, uint64_t address, uint64_t *ret_offset)
{
	size_t n = symtab_upper_bound(t, address);

	for (size_t i = n; i > 0 && n - i < MAX_NESTED; i--) {
		struct function *f = &t->functions[i - 1];

		if (address >= f->end)
			continue;
		if (!f->name)
			f->name = demangle(f->symbol);
		if (!f->name)
			return NULL;
		*ret_offset = address - f->start;
		return f->name;
	}
	return NULL;
}
