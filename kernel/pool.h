/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_POOL_H
#define DP_KERNEL_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

/*
 * The memory in which tables and mappings lie, shared with the kernel (see
 * abi.h). It grows by whole segments, up to a limit, and hands out runs of
 * cells. What was released is given out again at once: whoever releases cells
 * that a running walk may still read waits until none can.
 *
 * Tables and spaces have segments of their own, and tables leave a part of the
 * limit to spaces: without its space, nothing is known of a process.
 */

/* The least that holds a table and a space. */
#define POOL_MIN_SEGMENTS 2
/* Of so many segments tables leave one to spaces, and one at least. */
#define POOL_RESERVE 8

/* What the limit may be, in bytes. */
#define POOL_MIN_MEMORY ((uint64_t)POOL_MIN_SEGMENTS * DP_SEGMENT_SIZE)
#define POOL_MAX_MEMORY ((uint64_t)DP_MAX_SEGMENTS * DP_SEGMENT_SIZE)

/* A sixteenth of the machine's memory, but 64 MiB at least: the tables of most machines' programs. */
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
	/* Make segment number `index`, zeroed: 0 and its address, or a negative errno. */
	int (*add_segment)(void *arg, uint32_t index, uint8_t **ret);
	void *arg;
	size_t max_segments; /* DP_MAX_SEGMENTS unless the caller says less after pool_init() */
	uint8_t **segments;
	uint8_t uses[DP_MAX_SEGMENTS]; /* of the segments: enum pool_use */
	size_t n_segments, segments_size;
	size_t n_segments_of[POOL_N_USES];
	struct pool_free {
		struct pool_run *runs; /* sorted by cell, no two adjacent */
		size_t n, size;
	} free[POOL_N_USES];
};

void pool_init(struct pool *pool, int (*add_segment)(void *, uint32_t, uint8_t **), void *arg);
/* Releases the book-keeping; the segments belong to whoever made them. */
void pool_done(struct pool *pool);

/*
 * A run of cells that starts at a multiple of 4 cells. A run that fits into a
 * segment lies in one; a longer one starts at a segment's first cell. Returns
 * 0, -ENOMEM, -ENOSPC if the limit is reached, or what add_segment says.
 */
int pool_alloc(struct pool *pool, uint32_t n_cells, uint32_t *ret_cell);
/* The same for a space, which may also lie where there would be room for tables. */
int pool_alloc_space(struct pool *pool, uint32_t n_cells, uint32_t *ret_cell);
void pool_release(struct pool *pool, uint32_t cell, uint32_t n_cells);

/* The cells that tables can still have, though not in one run; and could, if there were none. */
uint64_t pool_room(const struct pool *pool);
uint64_t pool_size(const struct pool *pool);

/* Fill part of a run. */
void pool_write(struct pool *pool, uint32_t cell, const void *src, uint32_t n_cells);

#endif
