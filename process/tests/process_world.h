/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_TESTS_PROCESS_WORLD_H
#define DP_PROCESS_TESTS_PROCESS_WORLD_H

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "log/clock.h"
#include "process/process.h"
#include "process/process_snapshot.h"
#include "symbols/tests/some_names.h"

/* A process table without a kernel: publications are recorded here. */
static uint8_t *segments[64];
static int n_segments;
static uint32_t published[8]; /* by pid - PID(0) */
static struct pool pool;
static struct binary_store binaries;
static struct process_table table;

/* A PID that cannot exist: above PID_MAX_LIMIT (64 bits). */
#define PID(n) (4 * 1024 * 1024 + 1000 + (n))

static int add_segment(void *arg, uint32_t index, uint8_t **ret)
{
	cr_assert_lt(n_segments, 64);
	*ret = segments[n_segments++] = calloc(1, DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
	return 0;
}

static int publish(void *arg, pid_t pid, uint32_t cell)
{
	if (pid >= PID(0) && pid < PID(8))
		published[pid - PID(0)] = cell;
	return 0;
}

static void begin(void)
{
	pool_init(&pool, add_segment, NULL);
	binary_store_init(&binaries, &pool, some_names());
	process_table_init(&table, &pool, &binaries, publish, NULL);
}

static void end(void)
{
	process_table_done(&table);
	binary_store_done(&binaries);
	pool_done(&pool);
	for (int i = 0; i < n_segments; i++)
		free(segments[i]);
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
