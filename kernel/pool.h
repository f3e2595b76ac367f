/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_POOL_H
#define DP_KERNEL_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

/*
 * The memory for tables and snapshots, shared with the kernel (see abi.h). It grows by whole segments,
 * up to a limit, and hands out runs of cells. Released cells are reused at once, so whoever
 * releases cells must first wait until no running walk can read them.
 *
 * Tables and snapshots have separate segments. Tables leave part of the limit to snapshots, because
 * without its snapshot nothing is known about a process.
 */

/* The minimum: one segment for a table, one for a snapshot. */
#define POOL_MIN_SEGMENTS 2
/* Tables leave every eighth segment to snapshots, and at least one. */
#define POOL_RESERVE 8

/* Bounds of the limit, in bytes. */
#define POOL_MIN_MEMORY ((uint64_t)POOL_MIN_SEGMENTS * DP_SEGMENT_SIZE)
#define POOL_MAX_MEMORY ((uint64_t)DP_MAX_SEGMENTS * DP_SEGMENT_SIZE)

/*
 * A sixteenth of the machine's memory, but at least 64 MiB, enough for all programs of most
 * machines.
 */
uint64_t pool_default_memory(void);

enum pool_use {
	POOL_TABLES,
	POOL_SPACES,
	POOL_N_USES,
};

struct pool_run {
	uint32_t cell;
	uint32_t n_cells;
};

struct pool {
	/* Makes segment number `index`, zeroed. Returns 0 and its address, or a negative errno. */
	int (*add_segment)(void *arg, uint32_t index, uint8_t **ret);
	void *arg;
	size_t max_segments; /* DP_MAX_SEGMENTS unless lowered after pool_init() */
	uint8_t **segments;
	uint8_t uses[DP_MAX_SEGMENTS]; /* by segment: enum pool_use */
	size_t n_segments, segments_size;
	size_t n_segments_of[POOL_N_USES];
	struct pool_free {
		struct pool_run *runs; /* sorted by cell, no two adjacent */
		size_t n, size;
	} free[POOL_N_USES];
};

void pool_init(struct pool *pool, int (*add_segment)(void *, uint32_t, uint8_t **), void *arg);
/* Frees the bookkeeping. The segments belong to whoever made them. */
void pool_done(struct pool *pool);

/*
 * Allocates a run of cells that starts at a multiple of 4 cells. A run that fits into a segment
 * lies in one; a longer run starts at the first cell of a segment. Returns 0, -ENOMEM, -ENOSPC if
 * the limit is reached, or the error of add_segment.
 */
int pool_alloc(struct pool *pool, uint32_t n_cells, uint32_t *ret_cell);
/* Does the same for a snapshot, which may also use room left for tables. */
int pool_alloc_snapshot(struct pool *pool, uint32_t n_cells, uint32_t *ret_cell);
void pool_release(struct pool *pool, uint32_t cell, uint32_t n_cells);

/*
 * pool_room(): cells still available for tables, not necessarily in one run. pool_size(): cells
 * available for tables in an empty pool.
 */
uint64_t pool_room(const struct pool *pool);
uint64_t pool_size(const struct pool *pool);

/* Writes part of a run. */
void pool_write(struct pool *pool, uint32_t cell, const void *src, uint32_t n_cells);

#endif
