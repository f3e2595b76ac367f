// SPDX-License-Identifier: Apache-2.0
#include "symbols/plt.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/elf_linkage.h"
#include "limits/limit_hits.h"
#include "limits/limits.h"
#include "symbols/stub_code.h"

struct stub {
	uint64_t start, size;
	uint64_t slot;     /* address that it jumps through; 0: only its number is known */
	uint64_t number;   /* of the slot's relocation (elf_linkage_slot()) */
	char *name;        /* NULL: not found */
	uint64_t resolver; /* for a slot without a name: the IFUNC resolver; 0: none */
};

struct plt {
	struct stub *stubs; /* by start once all are read */
	size_t n_stubs, stubs_size;
	size_t names_size;
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
DEFINE_CLEANUP(struct elf_linkage *, elf_linkage_free)

/* Each section has stubs of one size, which linkers do not always record. */
static int add_stubs(void *arg, const struct elf_stubs *stubs)
{
	bool is_short = stubs->entry_size == 8 || (stubs->entry_size == 0 && stubs->align == 8);
	size_t step = is_short ? 8 : code_stub_size;
	struct plt *plt = arg;

	for (uint64_t at = 0; at + step <= stubs->size; at += step) {
		struct stub stub = { .start = stubs->address + at, .size = step };

		if (!code_find_slot(stubs->code + at, step, stub.start, &stub.slot, &stub.number))
			continue;
		if (plt->n_stubs == PLT_MAX_STUBS) {
			LIMIT_HIT(PLT_MAX_STUBS);
			break;
		}
		if (array_reserve(plt->stubs, plt->n_stubs, plt->stubs_size) < 0)
			return -ENOMEM;
		plt->stubs[plt->n_stubs++] = stub;
	}
	return 0;
}

/* Lazily resolved stubs push the number of their relocation, which identifies them. */
static void find_slots(struct plt *plt, struct elf_linkage *linkage)
{
	for (size_t i = 0; i < plt->n_stubs; i++)
		if (plt->stubs[i].slot == 0)
			plt->stubs[i].slot = elf_linkage_slot(linkage, plt->stubs[i].number);
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

	if (plt->names_size > PLT_MAX_NAMES)
		LIMIT_HIT(PLT_MAX_NAMES);
	if (stub->name || plt->names_size > PLT_MAX_NAMES)
		return 0;
	if (strnlen(name, PLT_MAX_NAME + 1) > PLT_MAX_NAME)
		LIMIT_HIT(PLT_MAX_NAME);
	size = asprintf(&stub->name, "%.*s@plt", PLT_MAX_NAME, name);
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

/* What a relocation writes to its slot. */
static int use_relocation(void *arg, const struct elf_relocation *r)
{
	const char *symbol;

	switch (code_slot_of(r->type)) {
	case CODE_SLOT_RESOLVED:
		set_resolver(arg, r->slot, r->addend);
		return 0;
	case CODE_SLOT_NAMED:
		symbol = elf_relocation_symbol(r);
		return *symbol ? name_slot(arg, r->slot, symbol) : 0;
	default:
		return 0;
	}
}

/* The symbol of an IFUNC has its resolver's address. */
static int use_resolver(void *arg, const char *symbol, uint64_t address)
{
	return name_slot(arg, address, symbol);
}

static int plt_read(struct plt *plt, struct elf_linkage *linkage)
{
	int err = elf_linkage_each_stubs(linkage, add_stubs, plt);

	if (err == 0 && plt->n_stubs == 0)
		err = -ENODATA;
	if (err < 0)
		return err;
	find_slots(plt, linkage);
	qsort(plt->stubs, plt->n_stubs, sizeof(*plt->stubs), slot_compare);
	err = elf_linkage_each_relocation(linkage, use_relocation, plt);
	/* The remaining stubs are for IFUNCs, found by their resolvers. */
	for (size_t i = 0; i < plt->n_stubs; i++)
		plt->stubs[i].slot = plt->stubs[i].resolver;
	qsort(plt->stubs, plt->n_stubs, sizeof(*plt->stubs), slot_compare);
	if (err == 0)
		err = elf_linkage_each_resolver(linkage, use_resolver, plt);
	qsort(plt->stubs, plt->n_stubs, sizeof(*plt->stubs), start_compare);
	return err;
}

int plt_new(int fd, const void *memory, size_t size, struct plt **ret)
{
	_cleanup_(elf_linkage_freep) struct elf_linkage *linkage = NULL;
	_cleanup_(plt_freep) struct plt *plt = calloc(1, sizeof(*plt));
	int err;

	if (!plt)
		return -ENOMEM;
	err = elf_linkage_new(fd, memory, size, &linkage);
	if (err == 0)
		err = plt_read(plt, linkage);
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
