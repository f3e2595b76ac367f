/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_TESTS_PROCESS_WORLD_H
#define DP_PROCESS_TESTS_PROCESS_WORLD_H

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "log/clock.h"
#include "process/process_snapshot.h"
#include "process/tests/process_parts.h"
#include "symbols/tests/some_names.h"

static void begin(void)
{
	parts_init(some_names());
}

static void end(void)
{
	parts_done();
}

static inline void map(int n, uint64_t time, uint64_t start, uint64_t stop)
{
	struct mmap_record r = {
		.pid = PID(n),
		.time = time,
		.start = start,
		.end = stop,
		.name = "//anon",
	};

	/* Without a record, /proc would be read. */
	if (!process_table_find(&table, PID(n)))
		process_table_on_exec(&table, PID(n), 0);
	cr_assert(process_table_on_mmap(&table, &r) == 0);
}

static inline struct snapshot *snapshot_of(int n, uint64_t time)
{
	struct snapshot *s;

	cr_assert(process_snapshot(&table, process_table_find(&table, PID(n)), time, &s) == 0);
	return s;
}

static inline void expect_mappings(int n, uint64_t time, size_t count)
{
	struct snapshot *s = snapshot_of(n, time);

	cr_assert(s->n_mappings == count, "%zu mappings at %lu", s->n_mappings, time);
	for (size_t i = 1; i < count; i++)
		cr_assert(s->mappings[i - 1].end <= s->mappings[i].start, "sorted, no overlap");
	snapshot_free(&table.snapshots, s);
}

#endif
