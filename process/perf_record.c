// SPDX-License-Identifier: Apache-2.0
#include "process/perf_record.h"

#include <stddef.h>
#include <string.h>

void perf_ring_copy(const uint8_t *ring, size_t ring_size, uint64_t position, void *ret,
		    size_t size)
{
	size_t at = position % ring_size;
	size_t n = size < ring_size - at ? size : ring_size - at;

	memcpy(ret, ring + at, n);
	memcpy((uint8_t *)ret + n, ring, size - n);
}

/* Where the name ends, with its zeros. */
static size_t ksymbol_end(const struct perf_event_header *record)
{
	const size_t start = offsetof(struct perf_ksymbol, name);
	const char *name = (const char *)record + start;
	size_t unit = sizeof(uint64_t);

	if (record->size < start)
		return record->size;
	return start + (strnlen(name, record->size - start) + unit) / unit * unit;
}

uint64_t perf_record_time(const struct perf_event_header *record, uint64_t now)
{
	uint64_t time;
	size_t at;

	if (record->size < sizeof(*record) + sizeof(time))
		return 0;
	at = record->size - sizeof(time);
	if (record->type == PERF_RECORD_KSYMBOL && ksymbol_end(record) < at)
		at = ksymbol_end(record);
	memcpy(&time, (const uint8_t *)record + at, sizeof(time));
	return time < now ? time : now;
}
