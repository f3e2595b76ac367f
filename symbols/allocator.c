// SPDX-License-Identifier: Apache-2.0
#include "symbols/allocator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/elf_symbols.h"

/* What precedes a name where an allocator does not replace the C library's: of jemalloc, tcmalloc, mimalloc. */
static const char *const prefixes[] = { "", "je_", "_rjem_", "tc_", "mi_" };

static const struct {
	const char *name;
	enum dp_alloc how;
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
	/* jemalloc's own, and C23's */
	{ "mallocx", DP_ALLOC_MALLOC },
	{ "rallocx", DP_ALLOC_REALLOC },
	{ "dallocx", DP_ALLOC_FREE },
	{ "sdallocx", DP_ALLOC_FREE },
	{ "free_sized", DP_ALLOC_FREE },
	{ "free_aligned_sized", DP_ALLOC_FREE },
};

struct search {
	const struct elf_file *file;
	struct allocator *to;
};

/* False: it is none. */
static bool find_name(const char *name, enum dp_alloc *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t length = strlen(prefixes[i]);

		if (strncmp(name, prefixes[i], length) != 0)
			continue;
		for (size_t j = 0; j < ARRAY_SIZE(names); j++)
			if (strcmp(name + length, names[j].name) == 0) {
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

static int on_symbol(void *arg, const struct elf_symbol *s)
{
	struct search *search = arg;
	struct allocator *to = search->to;
	enum dp_alloc how;
	uint64_t offset;

	if (s->is_function && to->n < ALLOCATOR_PLACES && find_name(s->name, &how) &&
	    elf_offset_of(search->file, s->address, &offset) && !is_known(to, offset))
		to->places[to->n++] = (struct allocator_place){ .offset = offset, .how = how };
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct allocator_place *x = a, *y = b;

	if (x->how != y->how)
		return x->how < y->how ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

int allocator_find(const struct elf_file *file, struct allocator *ret)
{
	struct search search = { .file = file, .to = ret };

	memset(ret, 0, sizeof(*ret));
	elf_symbols_each(file, true, on_symbol, &search);
	elf_symbols_each(file, false, on_symbol, &search);
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
