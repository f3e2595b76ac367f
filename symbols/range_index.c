// SPDX-License-Identifier: Apache-2.0
#include "symbols/range_index.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "limits/limit_hits.h"
#include "limits/limits.h"

void range_index_done(struct range_index *index)
{
	free(index->ranges);
	*index = (struct range_index){ 0 };
}

int range_index_add(struct range_index *index, uint64_t start, uint64_t end, uint32_t id)
{
	if (index->n_ranges == RANGE_INDEX_MAX) {
		LIMIT_HIT(RANGE_INDEX_MAX);
		return -E2BIG;
	}
	if (array_reserve(index->ranges, index->n_ranges, index->ranges_size) < 0)
		return -ENOMEM;
	index->ranges[index->n_ranges++] = (struct range){ .start = start, .end = end, .id = id };
	return 0;
}

/* Sorts enclosing ranges before those inside them. */
static int range_compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

void range_index_sort(struct range_index *index)
{
	uint32_t around = 0;

	if (index->n_ranges == 0)
		return;
	qsort(index->ranges, index->n_ranges, sizeof(*index->ranges), range_compare);
	for (size_t i = 0; i < index->n_ranges; i++) {
		while (around > 0 && index->ranges[around - 1].end <= index->ranges[i].start)
			around = index->ranges[around - 1].outer;
		index->ranges[i].outer = around;
		around = (uint32_t)i + 1;
	}
}

/*
 * The range with index i - 1 if it contains the address, otherwise the innermost one around it that
 * does.
 */
static const struct range *range_outwards(const struct range_index *index, size_t i,
					  uint64_t address)
{
	while (i > 0 && index->ranges[i - 1].end <= address)
		i = index->ranges[i - 1].outer;
	return i > 0 ? &index->ranges[i - 1] : NULL;
}

const struct range *range_index_find(const struct range_index *index, uint64_t address)
{
	size_t lo = 0, hi = index->n_ranges;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (index->ranges[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return range_outwards(index, lo, address);
}

const struct range *range_index_outer(const struct range_index *index, const struct range *range,
				      uint64_t address)
{
	return range_outwards(index, range->outer, address);
}
