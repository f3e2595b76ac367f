// SPDX-License-Identifier: Apache-2.0
#include "tables/code_reads.h"

#include <stdlib.h>

#include "base/array.h"
#include "tables/known_code.h"

/* Code is read again, from one place or a few in turn. */
#define N_RECENT 4

/* True if it is part of one of the last ones, or if the very last one could be extended by it. */
static bool is_known(struct code_reads *reads, uint64_t range, uint64_t from, uint64_t to)
{
	for (size_t i = reads->n; i > 0 && i + N_RECENT > reads->n; i--) {
		struct code_read *r = &reads->list[i - 1];
		uint64_t end = r->offset + (uint64_t)r->size;

		if (r->range != range || from < r->offset || from > end)
			continue;
		if (to <= end)
			return true;
		if (i == reads->n && to - r->offset <= UINT16_MAX) {
			reads->bytes += to - end;
			r->size = (uint16_t)(to - r->offset);
			return true;
		}
	}
	return false;
}

void code_reads_add(struct code_reads *reads, const struct code_range *range, uint64_t address,
		    uint64_t size)
{
	uint64_t number = (uint64_t)(range - reads->ranges);
	uint64_t from = address - range->address, to;

	if (from > range->size || reads->is_incomplete)
		return;
	to = size < range->size - from ? from + size : range->size;
	while (from < to && !is_known(reads, number, from, to)) {
		uint64_t n = to - from < UINT16_MAX ? to - from : UINT16_MAX;

		if (number > UINT16_MAX || from > UINT32_MAX || reads->n == CODE_READS_MAX ||
		    reads->bytes + n > CODE_READS_BYTES_MAX ||
		    array_reserve(reads->list, reads->n, reads->size) < 0) {
			reads->is_incomplete = true;
			return;
		}
		reads->list[reads->n++] = (struct code_read){ .offset = (uint32_t)from,
							      .size = (uint16_t)n,
							      .range = (uint16_t)number };
		reads->bytes += n;
		from += n;
	}
}

void code_reads_done(struct code_reads *reads)
{
	free(reads->list);
	*reads = (struct code_reads){ 0 };
}
