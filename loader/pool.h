/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOADER_POOL_H
#define DP_LOADER_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "abi.h"

/*
 * The memory in which tables and mappings lie, shared with the kernel (see
 * abi.h). It grows by whole segments and hands out runs of cells. What was
 * released is given out again at once: whoever releases cells that a running
 * walk may still read waits until none can.
 */

struct pool_run {
	uint32_t cell;
	uint32_t n_cells;
};

struct pool {
	/* Make segment number `index`, zeroed: 0 and its address, or a negative errno. */
	int (*add_segment)(void *arg, uint32_t index, uint8_t **ret);
	void *arg;
	uint8_t **segments;
	size_t n_segments, segments_size;
	struct pool_run *free; /* sorted by cell, no two adjacent */
	size_t n_free, free_size;
};

void pool_init(struct pool *pool, int (*add_segment)(void *, uint32_t, uint8_t **), void *arg);
/* Releases the book-keeping; the segments belong to whoever made them. */
void pool_done(struct pool *pool);

/*
 * A run of cells that starts at a multiple of 4 cells. A run that fits into a
 * segment lies in one; a longer one starts at a segment's first cell. Returns
 * 0, -ENOMEM, -ENOSPC if DP_MAX_SEGMENTS are used up, or what add_segment says.
 */
int pool_alloc(struct pool *pool, uint32_t n_cells, uint32_t *ret_cell);
void pool_release(struct pool *pool, uint32_t cell, uint32_t n_cells);

/* Fill part of a run. */
void pool_write(struct pool *pool, uint32_t cell, const void *src, uint32_t n_cells);

#endif
