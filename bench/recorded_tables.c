// SPDX-License-Identifier: Apache-2.0
#include "bench/recorded_tables.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"

#define ASSEMBLER_SIZE (1 << 25)
#include "bench/made_functions.h"

/* Code up to here around a recorded address is of the same function. */
#define AROUND 100

/* Room for what comes before the body of a function. */
#define PROLOGUE 6

/* An address that was met, and its rule. */
struct place {
	uint64_t address;
	enum recorded_rule rule;
	uint32_t offset, below; /* of the CFA, from sp or fp */
};

struct places {
	struct place *all;
	size_t n, size;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static int find_in_sample(const struct recording *r, const struct recorded_sample *s,
			  unsigned int binary, struct places *places)
{
	uint64_t cfa = s->sp;

	for (size_t i = 0; i < s->n_frames; i++) {
		const struct recorded_frame *f = &r->frames[s->first + i];

		cfa += f->size;
		if (f->binary != binary)
			continue;
		if (array_reserve(places->all, places->n, places->size) < 0)
			return -ENOMEM;
		places->all[places->n++] = (struct place){
			.address = recorded_lookup(r, s, i),
			.rule = f->rule,
			.offset = f->rule == RECORDED_FP ? (uint32_t)cfa - f->fp : f->size,
			.below = f->below,
		};
	}
	return 0;
}

static int find_places(const struct recording *r, unsigned int binary, struct places *places)
{
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; i < r->n_samples && err == 0; i++)
		err = find_in_sample(r, &r->samples[i], binary, places);
	if (err < 0)
		return err;
	qsort(places->all, places->n, sizeof(*places->all), compare_places);
	for (size_t i = 0; i < places->n; i++)
		if (n == 0 || places->all[i].address != places->all[n - 1].address)
			places->all[n++] = places->all[i];
	places->n = n;
	return 0;
}

static void put_place(struct assembler *a, const struct place *p, uint64_t start, uint64_t end,
		      size_t cie)
{
	size_t fde = fde_begin(a, cie, start, end - start);

	if (p->address - start >= PROLOGUE) {
		put_advance(a, 1);
		put_cfa_offset(a, 16);
		put_advance(a, PROLOGUE - 1);
	}
	if (p->rule == RECORDED_ROOT) {
		put_u8(a, 0x07); /* undefined */
		put_uleb(a, DP_REG_PC);
	} else {
		put_u8(a, 0x0c); /* def_cfa */
		put_uleb(a, p->rule == RECORDED_FP ? DP_REG_FP : DP_REG_SP);
		put_uleb(a, p->offset);
		if (p->below > 0) {
			put_u8(a, 0x80 | DP_REG_FP);
			put_uleb(a, 1 + p->below);
		}
	}
	record_end(a, fde);
}

/* Functions from one address to another one. */
static void put_functions(struct assembler *a, unsigned int *seed, uint64_t at, uint64_t end,
			  size_t cie)
{
	struct function f;

	for (at = (at + 15) / 16 * 16; at + 64 <= end; at = (at + f.size + 15) / 16 * 16) {
		f = (struct function){ .start = at, .size = 64 + pick(seed, 1000) };
		if (f.size > end - at)
			f.size = end - at;
		put_function(a, seed, &f, cie);
	}
}

static void put_all(struct assembler *a, const struct places *places,
		    const struct recorded_binary *b)
{
	uint64_t at = b->start, start, end, limit = b->start + b->size;
	size_t cie = put_cie(a);
	unsigned int seed = 1;

	for (size_t i = 0; i < places->n; i++) {
		const struct place *p = &places->all[i];

		start = p->address - at > AROUND ? p->address - AROUND : at;
		end = p->address + AROUND;
		if (i + 1 < places->n && p[1].address - p->address < 2 * AROUND)
			end = (p->address + p[1].address + 1) / 2;
		if (end > limit)
			end = limit;
		put_functions(a, &seed, at, start, cie);
		if (p->rule != RECORDED_CHAIN)
			put_place(a, p, start, end, cie);
		at = end;
	}
	put_functions(a, &seed, at, limit, cie);
}

int recorded_table(const struct recording *r, unsigned int binary, struct image *ret)
{
	const struct recorded_binary *b = &r->binaries[binary];
	_cleanup_free_ struct assembler *a = calloc(1, sizeof(*a));
	struct image_input input = { .start = b->start, .end = b->start + b->size };
	struct places places = { 0 };
	struct cfi_section section;
	int err = a ? find_places(r, binary, &places) : -ENOMEM;

	if (err == 0) {
		put_all(a, &places, b);
		section = assembled(a);
		err = image_build(&section, &input, ret);
	}
	free(places.all);
	return err;
}
