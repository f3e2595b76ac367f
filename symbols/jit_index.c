// SPDX-License-Identifier: Apache-2.0
#include "symbols/jit_index.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "limits/limits.h"

/* A part of a piece of code during the time in which nothing replaced it. */
struct jit_piece {
	uint64_t start, end;
	uint64_t reach; /* for sorted past pieces: the highest end so far */
	uint64_t base;  /* start of its code, which may have been replaced */
	uint64_t born, died;
	uint32_t code;
};

static void code_done(struct jit_code *code)
{
	free(code->name);
	free(code->lines);
	free(code->files);
}

void jit_index_done(struct jit_index *index)
{
	for (size_t i = 0; i < index->n_codes; i++)
		code_done(&index->codes[i]);
	free(index->codes);
	free(index->past);
	tdestroy(index->now, free);
	*index = (struct jit_index){ 0 };
}

int jit_index_add_code(struct jit_index *index, struct jit_code *code, uint32_t *ret)
{
	int err = index->n_codes >= JIT_INDEX_MAX ? -E2BIG : 0;

	if (err == 0)
		err = array_reserve(index->codes, index->n_codes, index->codes_size);
	if (err < 0) {
		code_done(code);
		return err;
	}
	*ret = (uint32_t)index->n_codes;
	index->codes[index->n_codes++] = *code;
	index->memory += sizeof(*code) + strlen(code->name) + code->files_size +
			 code->n_lines * sizeof(*code->lines);
	return 0;
}

/* Overlapping pieces compare as equal; the tree has none. */
static int piece_compare(const void *a, const void *b)
{
	const struct jit_piece *x = a, *y = b;

	if (x->end <= y->start)
		return -1;
	return x->start >= y->end;
}

static struct jit_piece *find_now(const struct jit_index *index, uint64_t start, uint64_t end)
{
	const struct jit_piece wanted = { .start = start, .end = end };
	struct jit_piece *const *found = tfind(&wanted, &index->now, piece_compare);

	return found ? *found : NULL;
}

static int insert(struct jit_index *index, const struct jit_piece *piece)
{
	struct jit_piece *copy;

	if (piece->start >= piece->end)
		return 0;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*copy = *piece;
	if (!tsearch(copy, &index->now, piece_compare)) {
		free(copy);
		return -ENOMEM;
	}
	index->memory += sizeof(*copy) + 4 * sizeof(void *);
	return 0;
}

/* Moves the part of an old piece that a new one overlaps to the past; the rest remains. */
static int cut(struct jit_index *index, struct jit_piece *old, const struct jit_piece *new)
{
	struct jit_piece left = *old, right = *old, past = *old;
	int err;

	tdelete(old, &index->now, piece_compare);
	free(old);
	index->memory -= sizeof(*old) + 4 * sizeof(void *);
	left.end = new->start;
	right.start = new->end;
	past.start = left.start > new->start ? left.start : new->start;
	past.end = right.end < new->end ? right.end : new->end;
	past.died = new->born;
	err = insert(index, &left);
	if (err == 0)
		err = insert(index, &right);
	if (err < 0 || past.born >= past.died)
		return err;
	if (array_reserve(index->past, index->n_past, index->past_size) < 0)
		return -ENOMEM;
	index->past[index->n_past++] = past;
	index->memory += sizeof(past);
	return 0;
}

int jit_index_place(struct jit_index *index, uint32_t code, uint64_t start, uint64_t born)
{
	uint64_t size = index->codes[code].size;
	struct jit_piece piece = { .start = start,
				   .end = start + size,
				   .base = start,
				   .born = born,
				   .died = UINT64_MAX,
				   .code = code };
	struct jit_piece *old;
	int err = 0;

	if (size == 0 || size > JIT_CODE_MAX || size > UINT64_MAX - start)
		return -EINVAL;
	while (err == 0 && (old = find_now(index, piece.start, piece.end)) != NULL)
		err = cut(index, old, &piece);
	return err == 0 ? insert(index, &piece) : err;
}

uint32_t jit_index_find_start(const struct jit_index *index, uint64_t start)
{
	const struct jit_piece *piece =
		start < UINT64_MAX ? find_now(index, start, start + 1) : NULL;

	return piece && piece->base == start ? piece->code : JIT_CODE_NONE;
}

static int past_compare(const void *a, const void *b)
{
	const struct jit_piece *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Sorts the pieces from a number on, to the last run. */
static void make_run(struct jit_index *index, size_t begin)
{
	struct jit_piece *run = index->past + begin;
	size_t n = index->n_past - begin;
	uint64_t reach = 0;

	qsort(run, n, sizeof(*run), past_compare);
	for (size_t i = 0; i < n; i++) {
		reach = run[i].end > reach ? run[i].end : reach;
		run[i].reach = reach;
	}
	index->run_ends[index->n_runs++] = index->n_past;
}

static size_t run_begin(const struct jit_index *index, size_t run)
{
	return run > 0 ? index->run_ends[run - 1] : 0;
}

/*
 * Sorts what was added. Code may be added between any two look-ups, so sorting all pieces each time
 * would cost the square of their number. Only runs that are not much longer are sorted again.
 */
static void sort_past(struct jit_index *index)
{
	size_t begin = run_begin(index, index->n_runs);

	if (begin == index->n_past)
		return;
	while (index->n_runs > 0 &&
	       begin - run_begin(index, index->n_runs - 1) <= 2 * (index->n_past - begin))
		begin = run_begin(index, --index->n_runs);
	make_run(index, begin);
}

/* Checks at most *steps of the pieces of a sorted run, and subtracts what it has checked. */
static const struct jit_piece *find_in_run(const struct jit_piece *run, size_t n, uint64_t address,
					   uint64_t time, unsigned int *steps)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (run[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo > 0 && *steps > 0; (*steps)--) {
		const struct jit_piece *piece = &run[--lo];

		if (piece->reach <= address)
			return NULL;
		if (address < piece->end &&
		    (time == UINT64_MAX || (piece->born <= time && time < piece->died)))
			return piece;
	}
	return NULL;
}

/* A piece that was at an address at a time; at any time if that is UINT64_MAX. */
static const struct jit_piece *find_past(struct jit_index *index, uint64_t address, uint64_t time)
{
	const struct jit_piece *found = NULL;
	unsigned int steps = JIT_INDEX_MAX_STEPS;

	sort_past(index);
	for (size_t i = index->n_runs; i > 0 && !found; i--) {
		size_t begin = run_begin(index, i - 1);

		found = find_in_run(index->past + begin, index->run_ends[i - 1] - begin, address,
				    time, &steps);
	}
	return found;
}

uint32_t jit_index_find(struct jit_index *index, uint64_t address, uint64_t time,
			uint64_t *ret_offset)
{
	const struct jit_piece *piece =
		address < UINT64_MAX ? find_now(index, address, address + 1) : NULL;
	const struct jit_piece *past = NULL;

	if (!piece)
		return JIT_CODE_NONE; /* a past piece has been replaced */
	if (time == UINT64_MAX || piece->born > time)
		past = find_past(index, address, time);
	/* It is one of several, and which is unknown; or none was there at that time. */
	if (time == UINT64_MAX ? past != NULL : piece->born > time && !past)
		return JIT_CODE_NONE;
	if (past)
		piece = past;
	*ret_offset = address - piece->base;
	return piece->code;
}
