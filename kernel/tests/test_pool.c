// SPDX-License-Identifier: Apache-2.0
/* The allocator of the pool: alignment, segments, the reserve for snapshots, and a random sequence. */
#include <criterion/criterion.h>
#include <errno.h>

#include "kernel/pool.h"

static int n_segments;
static int limit = 8;
static uint8_t *made[8];

static int add_segment(void *arg, uint32_t index, uint8_t **ret)
{
	if (n_segments == limit)
		return -ENOMEM;
	cr_assert(index == (uint32_t)n_segments);
	*ret = made[n_segments++] = calloc(1, DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
	return 0;
}

static struct pool pool;

static void begin(void)
{
	pool_init(&pool, add_segment, NULL);
}

static void end(void)
{
	pool_done(&pool);
	for (int i = 0; i < n_segments; i++)
		free(made[i]);
}

TestSuite(pool, .init = begin, .fini = end);

static uint32_t alloc(uint32_t n)
{
	uint32_t cell;

	cr_assert(pool_alloc(&pool, n, &cell) == 0);
	return cell;
}

Test(pool, never_gives_cell_zero_and_aligns)
{
	uint32_t a = alloc(1), b = alloc(5), c = alloc(1);

	cr_assert(a > 0 && a % 4 == 0 && b % 4 == 0 && c % 4 == 0);
	cr_assert(b >= a + 1 && c >= b + 5);
	cr_assert(n_segments == 1);
}

Test(pool, gives_released_cells_again)
{
	uint32_t a = alloc(100), b = alloc(100), c;

	alloc(100);
	pool_release(&pool, a, 100);
	pool_release(&pool, b, 100);
	c = alloc(200); /* fits only if the two runs were merged */
	cr_assert(c == a);
	cr_assert(n_segments == 1);
}

Test(pool, keeps_a_run_in_one_segment)
{
	uint32_t a = alloc(DP_SEGMENT_CELLS - 100), b = alloc(200);

	cr_assert(a / DP_SEGMENT_CELLS == 0);
	cr_assert(b == DP_SEGMENT_CELLS);
	/* The rest of the first segment is still used. */
	cr_assert(alloc(50) / DP_SEGMENT_CELLS == 0);
}

Test(pool, starts_a_large_run_at_a_segment)
{
	uint32_t a = alloc(8), b = alloc(3 * DP_SEGMENT_CELLS / 2),
		 c = alloc(DP_SEGMENT_CELLS / 2 - 8);

	cr_assert(a < DP_SEGMENT_CELLS);
	cr_assert(b == DP_SEGMENT_CELLS);
	cr_assert(c / DP_SEGMENT_CELLS == 0 || c >= b + 3 * DP_SEGMENT_CELLS / 2);
	cr_assert(n_segments == 3);
}

Test(pool, writes_across_segments)
{
	uint32_t n = DP_SEGMENT_CELLS + 10, cell = alloc(n);
	uint64_t *words = malloc((size_t)n * 8);

	for (uint32_t i = 0; i < n; i++)
		words[i] = i ^ 0x5555;
	pool_write(&pool, cell, words, n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = cell + i;
		uint64_t word;

		memcpy(&word, made[at / DP_SEGMENT_CELLS] + (size_t)(at % DP_SEGMENT_CELLS) * 8, 8);
		cr_assert(word == (i ^ 0x5555));
	}
	free(words);
}

Test(pool, says_when_there_is_no_more)
{
	uint32_t cell;

	limit = 2;
	alloc(DP_SEGMENT_CELLS - 8);
	alloc(DP_SEGMENT_CELLS);
	cr_assert(pool_alloc(&pool, 100, &cell) == -ENOMEM);
	cr_assert(pool_alloc(&pool, UINT32_MAX, &cell) == -ENOSPC);
}

/* Spaces find room, however much tables take, and also use what tables have left. */
Test(pool, keeps_a_reserve_for_snapshots)
{
	uint32_t cell, snapshot, n = 0;

	pool.max_segments = POOL_MIN_SEGMENTS;
	cr_assert(pool_room(&pool) == DP_SEGMENT_CELLS && pool_size(&pool) == DP_SEGMENT_CELLS);
	alloc(DP_SEGMENT_CELLS - 1000);
	cr_assert(pool_room(&pool) == 1000 - DP_FIRST_CELL);
	cr_assert(pool_alloc(&pool, 1000, &cell) == -ENOSPC);
	while (pool_alloc_snapshot(&pool, 100, &snapshot) == 0) {
		n++;
		cell = snapshot;
	}
	cr_assert(n == DP_SEGMENT_CELLS / 100 + 9, "%u", n);
	cr_assert(cell < DP_SEGMENT_CELLS, "the last one lies among tables");
	cr_assert(n_segments == 2 && pool_room(&pool) < 100);
	pool_release(&pool, cell, 100);
	cr_assert(alloc(50) == cell, "and tables get it back");
	cr_assert(pool_alloc_snapshot(&pool, DP_SEGMENT_CELLS + 1, &snapshot) == -ENOSPC);
}

/* An eighth of a large pool. */
Test(pool, leaves_tables_the_rest)
{
	pool.max_segments = 8;
	cr_assert(pool_size(&pool) == UINT64_C(7) * DP_SEGMENT_CELLS);
	pool.max_segments = 5;
	cr_assert(pool_size(&pool) == UINT64_C(4) * DP_SEGMENT_CELLS);
}

/* Random sizes, allocated and released: no two runs overlap, none straddles a segment. */
Test(pool, survives_a_random_life)
{
	struct pool_run runs[200] = { 0 };
	unsigned int seed = 7;

	for (int i = 0; i < 20000; i++) {
		struct pool_run *r = &runs[rand_r(&seed) % 200];

		if (r->n_cells > 0) {
			pool_release(&pool, r->cell, r->n_cells);
			r->n_cells = 0;
			continue;
		}
		r->n_cells = 1 + (uint32_t)rand_r(&seed) % 5000;
		r->cell = alloc(r->n_cells);
		cr_assert(r->cell / DP_SEGMENT_CELLS ==
			  (r->cell + r->n_cells - 1) / DP_SEGMENT_CELLS);
		for (int j = 0; j < 200; j++)
			cr_assert(&runs[j] == r || runs[j].n_cells == 0 ||
				  r->cell + r->n_cells <= runs[j].cell ||
				  runs[j].cell + runs[j].n_cells <= r->cell);
	}
	cr_assert(n_segments <= 5);
	for (int i = 0; i < 200; i++)
		if (runs[i].n_cells > 0)
			pool_release(&pool, runs[i].cell, runs[i].n_cells);
	cr_assert(pool.free[POOL_TABLES].n == 1, "all is one free run again");
}
