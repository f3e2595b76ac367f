/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_RANGE_INDEX_H
#define DP_SYMBOLS_RANGE_INDEX_H

#include <stddef.h>
#include <stdint.h>

/*
 * Ranges of addresses that lie in each other, as those of functions, blocks and
 * inlined calls do, and which of them an address is in: by binary search for the
 * last that starts at or before it, from there outwards. Ranges of debug
 * information may also overlap in ways that make no sense; what is found then
 * does contain the address.
 */
struct range {
	uint64_t start, end;
	uint32_t id;    /* the caller's */
	uint32_t outer; /* index + 1 of the range around this one; 0: there is none */
};

struct range_index {
	struct range *ranges;
	size_t n_ranges, ranges_size;
};

/* More ranges than any real unit has; what adds more gets -E2BIG. */
#define RANGE_INDEX_MAX (UINT32_C(1) << 22)

void range_index_done(struct range_index *index);

/* Of equal ranges, the one with the larger id is the inner one. 0, -ENOMEM, -E2BIG. */
int range_index_add(struct range_index *index, uint64_t start, uint64_t end, uint32_t id);
/* To be called when all ranges are there, before the first is looked up. */
void range_index_sort(struct range_index *index);

/* The innermost range that contains the address; NULL if none does. */
const struct range *range_index_find(const struct range_index *index, uint64_t address);
/* The next one around a range that was found; NULL if there is none. */
const struct range *range_index_outer(const struct range_index *index, const struct range *range,
				      uint64_t address);

#endif
