// SPDX-License-Identifier: Apache-2.0
#include "pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Records of 32 bytes then never lie across two segments. */
#define POOL_ALIGN 4

static uint32_t aligned(uint32_t n_cells)
{
	return (n_cells + POOL_ALIGN - 1) & ~(uint32_t)(POOL_ALIGN - 1);
}

void pool_init(struct pool *pool, int (*add_segment)(void *, uint32_t, uint8_t **), void *arg)
{
	*pool = (struct pool){ .add_segment = add_segment, .arg = arg };
}

void pool_done(struct pool *pool)
{
	free(pool->segments);
	free(pool->free);
	*pool = (struct pool){ 0 };
}

static void free_remove(struct pool *pool, size_t at)
{
	pool->n_free--;
	memmove(&pool->free[at], &pool->free[at + 1], (pool->n_free - at) * sizeof(*pool->free));
}

static int free_insert(struct pool *pool, size_t at, struct pool_run run)
{
	if (array_reserve(pool->free, pool->n_free, pool->free_size) < 0)
		return -ENOMEM;
	memmove(&pool->free[at + 1], &pool->free[at], (pool->n_free - at) * sizeof(*pool->free));
	pool->free[at] = run;
	pool->n_free++;
	return 0;
}

/* Put a run back, joined with its neighbours. */
static int free_add(struct pool *pool, struct pool_run run)
{
	size_t at = 0;

	while (at < pool->n_free && pool->free[at].cell < run.cell)
		at++;
	if (at > 0 && pool->free[at - 1].cell + pool->free[at - 1].n_cells == run.cell) {
		at--;
		run.cell = pool->free[at].cell;
		run.n_cells += pool->free[at].n_cells;
		free_remove(pool, at);
	}
	if (at < pool->n_free && run.cell + run.n_cells == pool->free[at].cell) {
		run.n_cells += pool->free[at].n_cells;
		free_remove(pool, at);
	}
	return free_insert(pool, at, run);
}

static int pool_grow(struct pool *pool)
{
	uint32_t index = (uint32_t)pool->n_segments;
	struct pool_run run = { index * DP_SEGMENT_CELLS, DP_SEGMENT_CELLS };
	int err;

	if (index >= DP_MAX_SEGMENTS)
		return -ENOSPC;
	if (array_reserve(pool->segments, pool->n_segments, pool->segments_size) < 0)
		return -ENOMEM;
	err = pool->add_segment(pool->arg, index, &pool->segments[index]);
	if (err < 0)
		return err;
	pool->n_segments++;
	if (index == 0) { /* cell 0 means "none" */
		run.cell += POOL_ALIGN;
		run.n_cells -= POOL_ALIGN;
	}
	return free_add(pool, run);
}

/* Where in a free run n_cells can start; its end if nowhere. */
static uint32_t place_in_run(const struct pool_run *run, uint32_t n_cells)
{
	uint32_t end = run->cell + run->n_cells;
	uint32_t at = run->cell;
	uint32_t next_segment = (at / DP_SEGMENT_CELLS + 1) * DP_SEGMENT_CELLS;
	int starts_segment = at % DP_SEGMENT_CELLS == 0;

	if (!starts_segment && at + n_cells > next_segment)
		at = next_segment;
	return at < end && end - at >= n_cells ? at : end;
}

static int take_from_run(struct pool *pool, size_t i, uint32_t at, uint32_t n_cells)
{
	struct pool_run run = pool->free[i];
	struct pool_run behind = { at + n_cells, run.cell + run.n_cells - at - n_cells };

	pool->free[i].n_cells = at - run.cell;
	if (behind.n_cells > 0) {
		int err = free_insert(pool, i + 1, behind);

		if (err < 0) {
			pool->free[i] = run;
			return err;
		}
	}
	if (pool->free[i].n_cells == 0)
		free_remove(pool, i);
	return 0;
}

int pool_alloc(struct pool *pool, uint32_t n_cells, uint32_t *ret_cell)
{
	if (n_cells > DP_MAX_SEGMENTS * (uint32_t)DP_SEGMENT_CELLS)
		return -ENOSPC;
	n_cells = aligned(n_cells);
	for (;;) {
		int err;

		for (size_t i = 0; i < pool->n_free; i++) {
			uint32_t at = place_in_run(&pool->free[i], n_cells);

			if (at == pool->free[i].cell + pool->free[i].n_cells)
				continue;
			err = take_from_run(pool, i, at, n_cells);
			if (err == 0)
				*ret_cell = at;
			return err;
		}
		err = pool_grow(pool);
		if (err < 0)
			return err;
	}
}

void pool_release(struct pool *pool, uint32_t cell, uint32_t n_cells)
{
	/* Out of memory here loses the run for good, which harms nobody else. */
	(void)free_add(pool, (struct pool_run){ cell, aligned(n_cells) });
}

void pool_write(struct pool *pool, uint32_t cell, const void *src, uint32_t n_cells)
{
	const uint8_t *from = src;

	while (n_cells > 0) {
		uint32_t offset = cell % DP_SEGMENT_CELLS;
		uint32_t n = DP_SEGMENT_CELLS - offset;

		if (n > n_cells)
			n = n_cells;
		memcpy(pool->segments[cell / DP_SEGMENT_CELLS] + (size_t)offset * DP_CELL_SIZE,
		       from, (size_t)n * DP_CELL_SIZE);
		from += (size_t)n * DP_CELL_SIZE;
		cell += n;
		n_cells -= n;
	}
}
