// SPDX-License-Identifier: Apache-2.0
#include "kernel/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

/* So records of 32 bytes never cross a segment boundary. */
#define POOL_ALIGN 4

static_assert(DP_FIRST_CELL == POOL_ALIGN, "the first cell that is given out is aligned");

static uint32_t aligned(uint32_t n_cells)
{
	return (n_cells + POOL_ALIGN - 1) & ~(uint32_t)(POOL_ALIGN - 1);
}

/* Of the default size. */
#define MEMORY_SHARE 16
#define LEAST_MEMORY (64U << 20)

uint64_t pool_default_memory(void)
{
	uint64_t share =
		(uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / MEMORY_SHARE;

	if (share < LEAST_MEMORY)
		return LEAST_MEMORY;
	return share < POOL_MAX_MEMORY ? share : POOL_MAX_MEMORY;
}

void pool_init(struct pool *pool, int (*add_segment)(void *, uint32_t, uint8_t **), void *arg)
{
	*pool = (struct pool){
		.add_segment = add_segment,
		.arg = arg,
		.max_segments = DP_MAX_SEGMENTS,
	};
}

void pool_done(struct pool *pool)
{
	free(pool->segments);
	for (int use = 0; use < POOL_N_USES; use++)
		free(pool->free[use].runs);
	*pool = (struct pool){ 0 };
}

static void free_remove(struct pool_free *f, size_t at)
{
	f->n--;
	memmove(&f->runs[at], &f->runs[at + 1], (f->n - at) * sizeof(*f->runs));
}

static int free_insert(struct pool_free *f, size_t at, struct pool_run run)
{
	if (array_reserve(f->runs, f->n, f->size) < 0)
		return -ENOMEM;
	memmove(&f->runs[at + 1], &f->runs[at], (f->n - at) * sizeof(*f->runs));
	f->runs[at] = run;
	f->n++;
	return 0;
}

/* Returns a run to the list and merges it with its neighbours. */
static int free_add(struct pool_free *f, struct pool_run run)
{
	size_t at = 0;

	while (at < f->n && f->runs[at].cell < run.cell)
		at++;
	if (at > 0 && f->runs[at - 1].cell + f->runs[at - 1].n_cells == run.cell) {
		at--;
		run.cell = f->runs[at].cell;
		run.n_cells += f->runs[at].n_cells;
		free_remove(f, at);
	}
	if (at < f->n && run.cell + run.n_cells == f->runs[at].cell) {
		run.n_cells += f->runs[at].n_cells;
		free_remove(f, at);
	}
	return free_insert(f, at, run);
}

/* The maximum number of segments for a use. */
static size_t segments_limit(const struct pool *pool, enum pool_use use)
{
	size_t reserve = pool->max_segments / POOL_RESERVE;
	size_t others = pool->n_segments - pool->n_segments_of[use];

	if (use == POOL_TABLES && others < reserve)
		others = reserve;
	if (use == POOL_TABLES && others == 0)
		others = 1;
	return pool->max_segments > others ? pool->max_segments - others : 0;
}

static int pool_grow(struct pool *pool, enum pool_use use)
{
	uint32_t index = (uint32_t)pool->n_segments;
	struct pool_run run = { index * DP_SEGMENT_CELLS, DP_SEGMENT_CELLS };
	int err;

	if (pool->n_segments_of[use] >= segments_limit(pool, use))
		return -ENOSPC;
	if (array_reserve(pool->segments, pool->n_segments, pool->segments_size) < 0)
		return -ENOMEM;
	err = pool->add_segment(pool->arg, index, &pool->segments[index]);
	if (err < 0)
		return err;
	pool->uses[index] = (uint8_t)use;
	pool->n_segments++;
	pool->n_segments_of[use]++;
	if (index == 0) { /* the first cells are reserved: enum dp_cell */
		run.cell += DP_FIRST_CELL;
		run.n_cells -= DP_FIRST_CELL;
	}
	return free_add(&pool->free[use], run);
}

/* Where n_cells can start in a free run; the end of the run if they do not fit. */
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

static int take_from_run(struct pool_free *f, size_t i, uint32_t at, uint32_t n_cells)
{
	struct pool_run run = f->runs[i];
	struct pool_run behind = { at + n_cells, run.cell + run.n_cells - at - n_cells };

	f->runs[i].n_cells = at - run.cell;
	if (behind.n_cells > 0) {
		int err = free_insert(f, i + 1, behind);

		if (err < 0) {
			f->runs[i] = run;
			return err;
		}
	}
	if (f->runs[i].n_cells == 0)
		free_remove(f, i);
	return 0;
}

static int free_take(struct pool_free *f, uint32_t n_cells, uint32_t *ret_cell)
{
	for (size_t i = 0; i < f->n; i++) {
		uint32_t at = place_in_run(&f->runs[i], n_cells);
		int err;

		if (at == f->runs[i].cell + f->runs[i].n_cells)
			continue;
		err = take_from_run(f, i, at, n_cells);
		if (err == 0)
			*ret_cell = at;
		return err;
	}
	return -ENOSPC;
}

static int alloc_for(struct pool *pool, enum pool_use use, uint32_t n_cells, uint32_t *ret_cell)
{
	int err;

	n_cells = aligned(n_cells);
	while ((err = free_take(&pool->free[use], n_cells, ret_cell)) == -ENOSPC) {
		err = pool_grow(pool, use);
		if (err < 0)
			return err;
	}
	return err;
}

int pool_alloc(struct pool *pool, uint32_t n_cells, uint32_t *ret_cell)
{
	/* Otherwise all segments up to the limit would be made in vain. */
	if (n_cells > pool_room(pool))
		return -ENOSPC;
	return alloc_for(pool, POOL_TABLES, n_cells, ret_cell);
}

int pool_alloc_snapshot(struct pool *pool, uint32_t n_cells, uint32_t *ret_cell)
{
	int err;

	if (n_cells > DP_SEGMENT_CELLS)
		return -ENOSPC;
	err = alloc_for(pool, POOL_SPACES, n_cells, ret_cell);
	if (err < 0 && free_take(&pool->free[POOL_TABLES], aligned(n_cells), ret_cell) == 0)
		return 0;
	return err;
}

void pool_release(struct pool *pool, uint32_t cell, uint32_t n_cells)
{
	struct pool_free *f = &pool->free[pool->uses[cell / DP_SEGMENT_CELLS]];

	/* If this fails, the run is leaked, which does no other harm. */
	(void)free_add(f, (struct pool_run){ cell, aligned(n_cells) });
}

uint64_t pool_size(const struct pool *pool)
{
	return segments_limit(pool, POOL_TABLES) * (uint64_t)DP_SEGMENT_CELLS;
}

uint64_t pool_room(const struct pool *pool)
{
	const struct pool_free *f = &pool->free[POOL_TABLES];
	uint64_t made = pool->n_segments_of[POOL_TABLES] * (uint64_t)DP_SEGMENT_CELLS;
	uint64_t room = pool_size(pool) > made ? pool_size(pool) - made : 0;

	for (size_t i = 0; i < f->n; i++)
		room += f->runs[i].n_cells;
	return room;
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
