// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>
#include <stddef.h>
#include <string.h>

#include "process/perf_record.h"

TestSuite(perf_record);

/* The kernel writes on at the start when it comes to the end, within a record, too. */
Test(perf_ring, goes_round)
{
	static const uint8_t ring[8] = "ABCDEFGH";
	char copy[5] = "";

	perf_ring_copy(ring, sizeof(ring), 2, copy, 4);
	cr_assert_str_eq(copy, "CDEF");
	perf_ring_copy(ring, sizeof(ring), 4, copy, 4);
	cr_assert_str_eq(copy, "EFGH");
	perf_ring_copy(ring, sizeof(ring), 6, copy, 4);
	cr_assert_str_eq(copy, "GHAB");
	perf_ring_copy(ring, sizeof(ring), (UINT64_C(1) << 40) + 8 + 5, copy, 4);
	cr_assert_str_eq(copy, "FGHA");
}

#define TIME 1000
#define NOW 5000

/* As the kernel leaves it: full of what was there before. */
static union {
	struct perf_event_header header;
	struct perf_ksymbol ksymbol;
	struct perf_comm comm;
	uint8_t bytes[256];
} record;

/* A record with a name and the time behind it, of a size that says some bytes more. */
static uint64_t time_of(uint32_t type, size_t name_at, const char *name, size_t more, uint64_t time)
{
	size_t end = name_at + (strlen(name) / 8 + 1) * 8;

	memset(&record, 'x', sizeof(record));
	record.header.type = type;
	record.header.size = (uint16_t)(end + sizeof(time) + more);
	memset(record.bytes + name_at, 0, end - name_at);
	memcpy(record.bytes + name_at, name, strlen(name));
	memcpy(record.bytes + end, &time, sizeof(time));
	return perf_record_time(&record.header, NOW);
}

static uint64_t of_ksymbol(const char *name, size_t more)
{
	return time_of(PERF_RECORD_KSYMBOL, offsetof(struct perf_ksymbol, name), name, more, TIME);
}

Test(perf_record, time_is_behind_the_body)
{
	size_t at = offsetof(struct perf_comm, comm);

	cr_assert_eq(time_of(PERF_RECORD_COMM, at, "a", 0, TIME), TIME);
	cr_assert_eq(time_of(PERF_RECORD_COMM, at, "eight456", 0, TIME), TIME);
}

Test(perf_record, time_of_a_symbol_is_behind_its_name)
{
	for (size_t listener = 0; listener < 8; listener++) {
		cr_assert_eq(of_ksymbol("", 8 * listener), TIME);
		cr_assert_eq(of_ksymbol("seven67", 8 * listener), TIME);
		cr_assert_eq(of_ksymbol("eight456", 8 * listener), TIME);
		cr_assert_eq(of_ksymbol("bpf_prog_6deef7357e7b4530_dp_sample", 8 * listener), TIME);
	}
}

Test(perf_record, is_not_from_the_future)
{
	size_t at = offsetof(struct perf_comm, comm);

	cr_assert_eq(time_of(PERF_RECORD_COMM, at, "a", 0, NOW - 1), NOW - 1);
	cr_assert_eq(time_of(PERF_RECORD_COMM, at, "a", 0, NOW + 1), NOW);
	/* A kernel that writes something else there. */
	cr_assert_eq(time_of(PERF_RECORD_COMM, at, "a", 8, TIME), NOW);
}

Test(perf_record, may_be_short)
{
	for (uint16_t size = sizeof(record.header); size < sizeof(record); size++) {
		memset(&record, 'x', sizeof(record));
		record.header.type = PERF_RECORD_KSYMBOL;
		record.header.size = size;
		cr_assert_eq(perf_record_time(&record.header, NOW),
			     size < sizeof(record.header) + 8 ? 0 : NOW);
	}
}
