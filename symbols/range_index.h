/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_RANGE_INDEX_H
#define DP_SYMBOLS_RANGE_INDEX_H

#include <stddef.h>
#include <stdint.h>

/*
 * Finds the nested ranges that contain an address, such as those of functions, blocks and inlined
 * calls. A binary search finds the last range that starts at or before the address; from there it
 * goes outwards. Ranges in debug information may also overlap in invalid ways; a result still
 * contains the address.
 */
struct range {
	uint64_t start, end;
	uint32_t id;    /* for the caller */
	uint32_t outer; /* index + 1 of the enclosing range; 0: none */
};

struct range_index {
	struct range *ranges;
	size_t n_ranges, ranges_size;
};

void range_index_done(struct range_index *index);

/* Of equal ranges, the one with the larger id is the inner one. 0, -ENOMEM or -E2BIG. */
int range_index_add(struct range_index *index, uint64_t start, uint64_t end, uint32_t id);
/* Call it after adding all ranges and before the first look-up. */
void range_index_sort(struct range_index *index);

/* The innermost range that contains the address; NULL if none does. */
const struct range *range_index_find(const struct range_index *index, uint64_t address);
/* The next range that encloses a result and contains the address; NULL if there is none. */
const struct range *range_index_outer(const struct range_index *index, const struct range *range,
				      uint64_t address);

#endif
