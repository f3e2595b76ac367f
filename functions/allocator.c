// SPDX-License-Identifier: Apache-2.0
#include "functions/allocator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/elf_symbols.h"
#include "limits/limits.h"
#include "symbols/function_starts.h"
#include "symbols/plt.h"
#include "tables/function_exits.h"

/* What precedes a name where an allocator does not replace the C library's: of jemalloc, tcmalloc, mimalloc. */
static const char *const prefixes[] = { "", "je_", "_rjem_", "tc_", "mi_" };

static const struct {
	const char *name;
	enum dp_alloc how;
	bool is_other; /* of an allocator that is not the C library's */
} names[] = {
	{ "malloc", DP_ALLOC_MALLOC },
	{ "calloc", DP_ALLOC_CALLOC },
	{ "realloc", DP_ALLOC_REALLOC },
	{ "aligned_alloc", DP_ALLOC_ALIGNED },
	{ "memalign", DP_ALLOC_ALIGNED },
	{ "posix_memalign", DP_ALLOC_POSIX },
	{ "valloc", DP_ALLOC_MALLOC },
	{ "pvalloc", DP_ALLOC_MALLOC },
	{ "free", DP_ALLOC_FREE },
	/* C23's, and jemalloc's own */
	{ "free_sized", DP_ALLOC_FREE },
	{ "free_aligned_sized", DP_ALLOC_FREE },
	{ "mallocx", DP_ALLOC_MALLOC, true },
	{ "rallocx", DP_ALLOC_REALLOC, true },
	{ "dallocx", DP_ALLOC_FREE, true },
	{ "sdallocx", DP_ALLOC_FREE, true },
};

/* C++'s, mangled: not those with arguments of a program's own, which may be placed in memory that is there. */
static const struct {
	const char *begin;
	enum dp_alloc how;
} operators[] = {
	{ "_Znwm", DP_ALLOC_NEW },    { "_Znam", DP_ALLOC_NEW },   { "_ZdlPv", DP_ALLOC_FREE },
	{ "_ZdlPvm", DP_ALLOC_FREE }, { "_ZdaPv", DP_ALLOC_FREE }, { "_ZdaPvm", DP_ALLOC_FREE },
};
static const char *const operator_ends[] = {
	"",
	"RKSt9nothrow_t",
	"St11align_val_t",
	"St11align_val_tRKSt9nothrow_t",
};

struct search {
	const struct elf_file *file;
	struct allocator *to;
	bool of_operators; /* else of functions of C */
	bool is_other;     /* not the C library's own: it may have these, too */
};

static bool find_operator(const char *name, enum dp_alloc *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		size_t length = strlen(operators[i].begin);

		if (strncmp(name, operators[i].begin, length) != 0)
			continue;
		for (size_t j = 0; j < ARRAY_SIZE(operator_ends); j++)
			if (strcmp(name + length, operator_ends[j]) == 0) {
				*ret = operators[i].how;
				return true;
			}
	}
	return false;
}

/* False: it is none. */
static bool find_name(struct search *search, const char *name, enum dp_alloc *ret)
{
	if (search->of_operators)
		return find_operator(name, ret);
	if (strcmp(name, "__cxa_throw") == 0) {
		*ret = DP_ALLOC_THROW;
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t length = strlen(prefixes[i]);

		if (strncmp(name, prefixes[i], length) != 0)
			continue;
		for (size_t j = 0; j < ARRAY_SIZE(names); j++)
			if (strcmp(name + length, names[j].name) == 0) {
				search->is_other |= i > 0 || names[j].is_other;
				*ret = names[j].how;
				return true;
			}
	}
	return false;
}

/* A function may have several names. */
static bool is_known(const struct allocator *a, uint64_t offset)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->places[i].offset == offset)
			return true;
	return false;
}

/* False: there is no more room. */
static bool add_place(struct allocator *to, uint64_t offset, enum dp_alloc how)
{
	if (is_known(to, offset))
		return true;
	if (to->n == ALLOCATOR_PLACES)
		return false;
	to->places[to->n++] = (struct allocator_place){ .offset = offset, .how = how };
	return true;
}

static int on_symbol(void *arg, const struct elf_symbol *s)
{
	struct search *search = arg;
	struct allocator *to = search->to;
	enum dp_alloc how;
	uint64_t offset;

	if (s->is_function && find_name(search, s->name, &how) &&
	    elf_offset_of(search->file, s->address, &offset))
		add_place(to, offset, how);
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct allocator_place *x = a, *y = b;

	if (x->how != y->how)
		return x->how < y->how ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

struct part {
	uint64_t start, end;
};

/* An operator new, and what it jumps to. */
struct parts {
	const struct elf_file *file;
	const struct function_starts *starts;
	const struct plt *plt; /* NULL: the file has none */
	struct allocator *to;
	struct part of[ALLOCATOR_MAX_PARTS];
	size_t n;
};

/* Is a call of another file's function seen to end? It is probed, too, throws, or never returns. */
static bool is_seen(const char *stub)
{
	_cleanup_free_ char *name = strndup(stub, strcspn(stub, "@"));
	struct search any = { 0 };
	enum dp_alloc how;

	return name && (find_operator(name, &how) || find_name(&any, name, &how) ||
			strstr(name, "__throw_") || strcmp(name, "abort") == 0);
}

static bool is_part(const struct parts *p, uint64_t address)
{
	for (size_t i = 0; i < p->n; i++)
		if (address - p->of[i].start < p->of[i].end - p->of[i].start)
			return true;
	return false;
}

struct named {
	const char *name;
	uint64_t address; /* 0: not found */
};

static int find_named(void *arg, const struct elf_symbol *s)
{
	struct named *named = arg;

	if (s->is_function && strcmp(s->name, named->name) == 0)
		named->address = s->address;
	return named->address != 0;
}

/* The file's own function of a stub's name; 0: it has none. Another file might have one in front of it. */
static uint64_t stub_target(const struct elf_file *file, const char *stub)
{
	_cleanup_free_ char *name = strndup(stub, strcspn(stub, "@"));
	struct named named = { .name = name };

	if (name)
		elf_symbols_each(file, false, find_named, &named);
	return named.address;
}

/* The function that has an address; not one whose end is seen otherwise. 0 or a negative errno. */
static int add_part(struct parts *p, uint64_t address)
{
	uint64_t offset, start;
	const char *stub = p->plt ? plt_find(p->plt, address, &start) : NULL;
	struct part part;

	if (stub && is_seen(stub))
		return 0;
	if (stub)
		address = stub_target(p->file, stub);
	if (is_part(p, address) ||
	    (p->n > 0 && elf_offset_of(p->file, address, &offset) && is_known(p->to, offset)))
		return 0;
	if (p->n == ALLOCATOR_MAX_PARTS)
		return -E2BIG;
	if (function_starts_find(p->starts, address, &part.start, &part.end) < 0)
		return -ENOENT;
	p->of[p->n++] = part;
	return 0;
}

static int add_exit(struct parts *p, const struct function_exit *exit)
{
	uint64_t offset;

	if (!exit->returns)
		return exit->to ? add_part(p, exit->to) : -ENOENT;
	if (!elf_offset_of(p->file, exit->at, &offset))
		return -ENOENT;
	return add_place(p->to, offset, DP_ALLOC_EXIT) ? 0 : -E2BIG;
}

static int add_exits(struct parts *p, struct part part)
{
	uint64_t size = part.end - part.start;
	const uint8_t *code = elf_bytes_at(p->file, part.start, size);
	_cleanup_free_ struct function_exit *exits = NULL;
	size_t n;
	int err;

	if (!code || size > FUNCTION_ENDS_MAX_CODE)
		return -ENOENT;
	err = function_exits_find(code, part.start, size, &exits, &n);
	for (size_t i = 0; err == 0 && i < n; i++)
		err = add_exit(p, &exits[i]);
	return err;
}

/* The address of what is at an offset in the file; 0: none. */
static uint64_t address_of(const struct elf_file *file, uint64_t offset)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		const struct elf_segment *s = &file->segments[i];

		if (s->executable && offset - s->offset < s->file_size)
			return s->address + (offset - s->offset);
	}
	return 0;
}

static int add_all_exits(const struct elf_file *file, struct allocator *to)
{
	struct function_starts *starts = NULL;
	struct plt *plt = NULL;
	const size_t n = to->n;
	int err = function_starts_new(-1, file->bytes, file->size, &starts);

	(void)plt_new(-1, file->bytes, file->size, &plt);
	for (size_t i = 0; err == 0 && i < n; i++) {
		struct parts p = { .file = file, .starts = starts, .plt = plt, .to = to };

		if (to->places[i].how != DP_ALLOC_NEW)
			continue;
		err = add_part(&p, address_of(file, to->places[i].offset));
		for (size_t j = 0; err == 0 && j < p.n; j++)
			err = add_exits(&p, p.of[j]);
	}
	plt_free(plt);
	function_starts_free(starts);
	return err;
}

/* A call that is not seen to return would hide later ones: then, only what they call is seen, and what is given back. */
static void add_operators(struct search *search)
{
	struct allocator *to = search->to;
	size_t n = 0;

	search->of_operators = true;
	elf_symbols_each(search->file, true, on_symbol, search);
	elf_symbols_each(search->file, false, on_symbol, search);
	if (add_all_exits(search->file, to) == 0)
		return;
	for (size_t i = 0; i < to->n; i++)
		if (to->places[i].how != DP_ALLOC_NEW && to->places[i].how != DP_ALLOC_EXIT)
			to->places[n++] = to->places[i];
	to->n = (uint32_t)n;
}

int allocator_find(const struct elf_file *file, struct allocator *ret)
{
	struct search search = { .file = file, .to = ret };

	memset(ret, 0, sizeof(*ret));
	elf_symbols_each(file, true, on_symbol, &search);
	elf_symbols_each(file, false, on_symbol, &search);
	if (search.is_other)
		add_operators(&search);
	qsort(ret->places, ret->n, sizeof(*ret->places), compare);
	return ret->n > 0 && ret->places[0].how != DP_ALLOC_FREE ? 0 : -ENOENT;
}

bool allocator_is_sound(const struct allocator *a)
{
	for (size_t i = 0; i < a->n && a->n <= ALLOCATOR_PLACES; i++)
		if (a->places[i].how >= DP_N_ALLOCS ||
		    (i > 0 && a->places[i - 1].how > a->places[i].how))
			return false;
	return a->n <= ALLOCATOR_PLACES;
}
