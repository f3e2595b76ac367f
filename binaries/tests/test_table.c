// SPDX-License-Identifier: Apache-2.0
/*
 * Which tables are in the pool: freed when idle, evicted for others, rebuilt, and a random sequence
 * of all of these.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "binaries/binary.h"
#include "kernel/pool.h"
#include "log/clock.h"

/* A pool of private segments: one for tables, one for snapshots. */
static uint8_t *segments[64];
static int n_segments;
static struct pool pool;
static struct table_store store;
static char path[] = "/a";
static struct module module = { .path = path };
static struct binary binary = { .module = &module };
static uint64_t start;

#define SECOND UINT64_C(1000000000)
/* Fits twice, but not three times. */
#define LARGE (DP_SEGMENT_CELLS / 2 - 100)

static int add_segment(void *arg, uint32_t index, uint8_t **ret)
{
	*ret = segments[n_segments++] = calloc(1, DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
	return 0;
}

static void begin(void)
{
	pool_init(&pool, add_segment, NULL);
	pool.max_segments = POOL_MIN_SEGMENTS;
	table_store_init(&store, &pool);
	start = clock_now_ns();
}

static void end(void)
{
	table_store_done(&store);
	pool_done(&pool);
	for (int i = 0; i < n_segments; i++)
		free(segments[i]);
}

TestSuite(table, .init = begin, .fini = end);

/* Fills a table with cells that all contain `number`. */
static void fill(struct table *t, uint64_t number)
{
	uint64_t *cells = malloc((size_t)t->n_cells * sizeof(*cells));

	for (uint32_t i = 0; i < t->n_cells; i++)
		cells[i] = number;
	table_fill(&store, t, cells, 0);
	free(cells);
}

static uint64_t cell_at(uint32_t cell)
{
	uint64_t value;

	memcpy(&value,
	       segments[cell / DP_SEGMENT_CELLS] + (size_t)(cell % DP_SEGMENT_CELLS) * DP_CELL_SIZE,
	       sizeof(value));
	return value;
}

/* A table with one mapping, and one snapshot that refers to it. */
static struct table *mapped(uint32_t n_cells, uint64_t used)
{
	struct table *t;

	cr_assert(table_new(&store, &binary, n_cells, 0, &t) == 0);
	cr_assert(table_image(t) == DP_CELL_EVICTED, "not there yet");
	table_hold(t);
	if (table_find_room(&store, t) == 0) {
		fill(t, 1);
		table_name(t);
	}
	t->last_used = used;
	return t;
}

static void unmap(struct table *t)
{
	table_drop(t);
	if (t->n_snapshots > 0)
		table_unname(&store, t);
}

static bool is_there(const struct table *t)
{
	return table_image(t) >= DP_FIRST_CELL;
}

Test(table, has_no_image_where_there_is_no_table)
{
	cr_assert(table_image(NULL) == DP_CELL_NONE);
	table_hold(NULL);
	table_drop(NULL);
}

Test(table, makes_room_when_idle_the_least_recently_used_first)
{
	struct table *a = mapped(LARGE, start + 2), *b = mapped(LARGE, start + 1), *c, *d;

	table_store_update(&store, start + 2 * SECOND);
	c = mapped(LARGE, start + 3);
	cr_assert(is_there(a) && is_there(b) && !is_there(c), "no room: both are in use");
	unmap(a);
	unmap(b);
	d = mapped(LARGE, start + 3);
	cr_assert(is_there(a) && !is_there(b) && is_there(d) && store.n_freed == 1);
}

/* Idle tables are not evicted for one that would still not fit. */
Test(table, keeps_what_would_make_no_difference)
{
	struct table *a = mapped(LARGE, start), *b = mapped(LARGE, start), *huge;

	unmap(a);
	table_store_update(&store, start + 2 * SECOND);
	huge = mapped(DP_SEGMENT_CELLS - 8, start);
	cr_assert(is_there(a) && is_there(b) && !is_there(huge));
}

Test(table, goes_a_minute_after_its_last_use)
{
	struct table *idle = mapped(100, start), *used = mapped(100, start),
		     *late = mapped(100, start);

	unmap(idle);
	unmap(late);
	table_use(late, start + 30 * SECOND);
	table_use(late, start + 20 * SECOND);
	table_store_update(&store, start + TABLE_IDLE_NS - 1);
	cr_assert(is_there(idle));
	table_store_update(&store, start + TABLE_IDLE_NS + SECOND);
	cr_assert(!is_there(idle) && is_there(used) && is_there(late));
	table_store_update(&store, start + TABLE_IDLE_NS + 31 * SECOND);
	cr_assert(!is_there(late) && store.n_freed == 2);
}

/* A wanted table evicts another one, whose cells are freed when nobody can read them any more. */
Test(table, is_evicted_for_one_that_is_wanted)
{
	struct table *old = mapped(LARGE, start), *new = mapped(LARGE, start + 1), *c;
	uint64_t generation;
	uint32_t cell = old->cell;

	c = mapped(LARGE, start + 1);
	table_store_update(&store, start + 2 * SECOND);
	cr_assert(table_store_next(&store) == NULL && is_there(old), "nobody has asked for it");

	table_want(&store, c, start + 2 * SECOND);
	generation = store.generation;
	cr_assert(table_store_next(&store) == NULL);
	cr_assert(!is_there(old) && is_there(new) && store.generation != generation);
	cr_assert(cell_at(cell) == 1 && old->cell == cell, "a snapshot still names it");
	table_store_update(&store, start + 3 * SECOND);
	cr_assert(table_store_next(&store) == NULL && is_there(new), "room is on its way");

	table_unname(&store, old);
	cr_assert(old->cell == DP_CELL_NONE);
	cr_assert(table_store_next(&store) == c && c->cell == cell);
	fill(c, 2);
	cr_assert(is_there(c) && cell_at(cell) == 2 && store.n_evicted == 1);
	cr_assert(table_store_next(&store) == NULL, "once");
}

/* A large one evicts several at once, but no more than needed. */
Test(table, takes_the_room_of_as_many_as_it_needs)
{
	struct table *a = mapped(LARGE, start), *b = mapped(LARGE, start + 1),
		     *small = mapped(50, start + 2), *c = mapped(2 * LARGE, start + 3);

	table_store_update(&store, start + 2 * SECOND);
	table_want(&store, c, start + 2 * SECOND);
	cr_assert(table_store_next(&store) == NULL);
	cr_assert(!is_there(a) && !is_there(b) && is_there(small));
	table_unname(&store, a);
	cr_assert(table_store_next(&store) == NULL, "half of it");
	table_unname(&store, b);
	cr_assert(table_store_next(&store) == c && is_there(small) && store.n_evicted == 2);
}

Test(table, is_not_evicted_while_samples_meet_it)
{
	struct table *a = mapped(LARGE, start), *b = mapped(LARGE, start),
		     *c = mapped(LARGE, start);

	for (int i = 2; i < 10; i++) {
		uint64_t now = start + (uint64_t)i * SECOND;

		table_use(a, now - 1);
		table_use(b, now - 1);
		table_want(&store, c, now - 1);
		table_store_update(&store, now);
		cr_assert(table_store_next(&store) == NULL && is_there(a) && is_there(b));
	}
	/* It is no longer wanted when there is room. */
	unmap(b);
	table_store_update(&store, start + 20 * SECOND);
	cr_assert(table_store_next(&store) == NULL && is_there(b));
}

/* The longer a table takes to build, the longer it is not rebuilt. */
Test(table, is_not_made_all_the_time)
{
	struct table *t = mapped(LARGE, start);

	t->made = start;
	t->made_in = SECOND;
	unmap(t);
	table_store_update(&store, start + TABLE_IDLE_NS);
	cr_assert(!is_there(t));
	t->made = start + TABLE_IDLE_NS;
	for (unsigned int i = 0; i < TABLE_BUILD_SHARE; i++) {
		table_want(&store, t, start + TABLE_IDLE_NS + i * SECOND);
		table_store_update(&store, start + TABLE_IDLE_NS + i * SECOND);
		cr_assert(table_store_next(&store) == NULL);
	}
	table_want(&store, t, start + TABLE_IDLE_NS + TABLE_BUILD_SHARE * SECOND);
	table_store_update(&store, start + TABLE_IDLE_NS + TABLE_BUILD_SHARE * SECOND);
	cr_assert(table_store_next(&store) == t);
	table_give_room_back(&store, t);
	t->is_lost = true;
	cr_assert(table_store_next(&store) == NULL && t->cell == DP_CELL_NONE);
}

/* A failure that is nobody's fault is tried again, later, but not for ever. */
Test(table, that_fails_may_get_another_attempt)
{
	struct table *t = mapped(LARGE, start), *other = mapped(100, start);
	uint64_t now = clock_now_ns() + TABLE_IDLE_NS;

	unmap(t);
	unmap(other);
	table_store_update(&store, now);
	cr_assert(!is_there(t) && !is_there(other));
	for (int i = 0; i < 3; i++) {
		table_want(&store, t, now);
		cr_assert(table_store_next(&store) == t, "%d", i);
		t->made = 0;
		table_fail(&store, t, false);
		cr_assert(t->cell == DP_CELL_NONE && t->made >= start);
		t->made = now; /* the store is ahead of the clock here */
		table_want(&store, t, now);
		cr_assert(table_store_next(&store) == NULL, "not at once");
		now += TABLE_HOLD_NS;
		table_store_update(&store, now);
	}
	table_want(&store, t, now);
	cr_assert(table_store_next(&store) == NULL);
	table_want(&store, other, now);
	cr_assert(table_store_next(&store) == other);
	table_fail(&store, other, true);
	other->made = 0;
	table_want(&store, other, now);
	cr_assert(table_store_next(&store) == NULL);
}

Test(table, is_shed_for_snapshots)
{
	struct table *idle = mapped(500, start), *a = mapped(500, start), *b = mapped(500, start),
		     *used = mapped(500, start + 2 * SECOND);

	unmap(idle);
	table_store_update(&store, start + 2 * SECOND);
	cr_assert(table_store_shed(&store) && !is_there(idle));
	cr_assert(is_there(a) && is_there(b), "that may have been enough");
	cr_assert(!table_store_shed(&store) && is_there(a) != is_there(b), "it was not");
	cr_assert(!table_store_shed(&store) && is_there(a) != is_there(b), "one is on its way");
	table_unname(&store, is_there(a) ? b : a);
	cr_assert(!table_store_shed(&store) && !is_there(a) && !is_there(b));
	table_unname(&store, a->cell == DP_CELL_NONE ? b : a);
	cr_assert(!table_store_shed(&store) && is_there(used), "in use it stays");
}

/*
 * Random sequences: cells that a snapshot refers to remain unchanged, no two images overlap, and in
 * the end the whole pool is one free run.
 */
#define N_TABLES 40
#define N_NAMES 60

struct name {
	struct table *table;
	uint32_t cell;
	uint64_t number;
};

static void change(struct table *t, uint64_t now, unsigned int what, struct name *name)
{
	switch (what) {
	case 0:
		if (t->n_mappings < 3)
			table_hold(t);
		break;
	case 1:
		if (t->n_mappings > 0)
			table_drop(t);
		break;
	case 2:
		table_use(t, now);
		break;
	case 3:
		table_want(&store, t, now);
		break;
	case 4:
		if (!name->table && is_there(t)) {
			*name = (struct name){ t, t->cell, cell_at(t->cell) };
			table_name(t);
		}
		break;
	default:
		if (name->table)
			table_unname(&store, name->table);
		name->table = NULL;
	}
}

Test(table, survives_a_random_life)
{
	struct table *tables[N_TABLES];
	struct name names[N_NAMES] = { 0 };
	unsigned int seed = 11;
	uint64_t number = 1;

	pool.max_segments = 4;
	for (int i = 0; i < N_TABLES; i++)
		cr_assert(table_new(&store, &binary, 1000 + (uint32_t)rand_r(&seed) % LARGE, 0,
				    &tables[i]) == 0);
	for (int i = 0; i < 40000; i++) {
		uint64_t now = start + (uint64_t)i * (SECOND / 50);
		struct table *t = tables[rand_r(&seed) % N_TABLES];

		change(t, now, (unsigned int)rand_r(&seed) % 6, &names[rand_r(&seed) % N_NAMES]);
		table_store_update(&store, now);
		t = table_store_next(&store);
		if (t) {
			for (int k = 0; k < N_TABLES; k++)
				cr_assert(tables[k] == t || tables[k]->cell == DP_CELL_NONE ||
					  tables[k]->cell + tables[k]->n_cells <= t->cell ||
					  t->cell + t->n_cells <= tables[k]->cell);
			fill(t, number++);
		}
		for (int k = 0; k < N_NAMES; k++)
			cr_assert(!names[k].table || cell_at(names[k].cell) == names[k].number);
	}
	cr_assert(store.n_made > 500 && store.n_evicted > 100 && store.n_freed > 50,
		  "made %lu, evicted %lu, freed %lu", store.n_made, store.n_evicted, store.n_freed);
	cr_assert(pool.n_segments <= 3);
	for (int k = 0; k < N_NAMES; k++)
		if (names[k].table)
			table_unname(&store, names[k].table);
	for (int i = 0; i < N_TABLES; i++)
		if (tables[i]->cell != DP_CELL_NONE)
			table_give_room_back(&store, tables[i]);
	cr_assert(pool.free[POOL_TABLES].n == 1, "all is one free run again");
}
