/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_TESTS_PROCESS_PARTS_H
#define DP_PROCESS_TESTS_PROCESS_PARTS_H

#include <errno.h>
#include <sys/mman.h>

#include "process/process_table.h"

/* A process table without a kernel: publications are recorded here. */
static uint8_t *segments[64];
static int n_segments;
static uint32_t published[8]; /* by pid - PID(0) */
static struct pool pool;
static struct binary_store binaries;
static struct process_table table;

/* A PID that cannot exist: above PID_MAX_LIMIT (64 bits). */
#define PID(n) (4 * 1024 * 1024 + 1000 + (n))

#define SEGMENT_ROOM (DP_SEGMENT_SIZE + DP_SEGMENT_SLACK)

/* Most of it is never used, and costs nothing. What is behind it cannot be read. */
static int add_segment(void *arg, uint32_t index, uint8_t **ret)
{
	void *room = n_segments < 64 ? mmap(NULL, SEGMENT_ROOM + DP_USER_PAGE_SIZE, PROT_NONE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) :
				       MAP_FAILED;

	if (room == MAP_FAILED || mprotect(room, SEGMENT_ROOM, PROT_READ | PROT_WRITE) < 0)
		return -ENOSPC;
	*ret = segments[n_segments++] = room;
	return 0;
}

static int publish(void *arg, pid_t pid, uint32_t cell)
{
	if (pid >= PID(0) && pid < PID(8))
		published[pid - PID(0)] = cell;
	return 0;
}

static void parts_init(struct names *names)
{
	pool_init(&pool, add_segment, NULL);
	binary_store_init(&binaries, &pool, names);
	process_table_init(&table, &pool, &binaries, publish, NULL);
}

static void parts_done(void)
{
	process_table_done(&table);
	binary_store_done(&binaries);
	pool_done(&pool);
	while (n_segments > 0)
		munmap(segments[--n_segments], SEGMENT_ROOM + DP_USER_PAGE_SIZE);
}

#endif
