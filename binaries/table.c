// SPDX-License-Identifier: Apache-2.0
#include "binaries/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "binaries/binary.h"
#include "kernel/pool.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"

void table_store_init(struct table_store *store, struct pool *pool)
{
	*store = (struct table_store){ .pool = pool };
}

void table_store_done(struct table_store *store)
{
	while (store->tables) {
		struct table *t = store->tables;

		store->tables = t->next;
		free(t->runtime);
		free(t);
	}
}

int table_new(struct table_store *store, struct binary *binary, uint32_t n_cells, uint64_t took,
	      struct table **ret)
{
	struct table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->binary = binary;
	t->n_binaries = 1;
	t->n_cells = n_cells;
	t->last_used = t->made = clock_now_ns();
	t->made_in = took;
	t->next = store->tables;
	store->tables = t;
	*ret = t;
	return 0;
}

uint32_t table_image(const struct table *t)
{
	if (!t)
		return DP_CELL_NONE;
	return t->cell != DP_CELL_NONE && !t->is_leaving && !t->is_filling ? t->cell :
									     DP_CELL_EVICTED;
}

void table_give_room_back(struct table_store *store, struct table *t)
{
	pool_release(store->pool, t->cell, t->n_cells);
	t->cell = DP_CELL_NONE;
	t->is_leaving = t->is_filling = false;
}

static bool is_idle(const struct table *t)
{
	return t->n_mappings == 0 && t->n_snapshots == 0;
}

/*
 * Whether it is in the pool, is not being evicted or filled, and has not been used in the last
 * `ns`.
 */
static bool is_unused_for(const struct table_store *store, const struct table *t, uint64_t ns)
{
	return t->cell != DP_CELL_NONE && !t->is_leaving && !t->is_filling &&
	       t->last_used + ns <= store->time;
}

static struct table *least_recently_used(const struct table_store *store, bool idle)
{
	struct table *found = NULL;

	for (struct table *t = store->tables; t; t = t->next)
		if (is_idle(t) == idle && is_unused_for(store, t, TABLE_HOLD_NS) &&
		    (!found || t->last_used < found->last_used))
			found = t;
	return found;
}

static void free_idle(struct table_store *store, struct table *t)
{
	log_debug("%s: table freed, no longer in use", t->binary->module->path);
	table_give_room_back(store, t);
	store->n_freed++;
}

void table_free(struct table_store *store, struct table *t)
{
	struct table **at = &store->tables;

	if (t->cell != DP_CELL_NONE)
		free_idle(store, t);
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	free(t->runtime);
	free(t);
}

/* Starts an eviction; table_unname() completes it. */
static void evict(struct table_store *store, struct table *t)
{
	log_debug("%s: table evicted to make room for others", t->binary->module->path);
	t->is_leaving = true;
	store->generation++;
	store->n_evicted++;
	if (t->n_snapshots == 0) /* unmapped just now, or mapped while snapshots had no room */
		table_give_room_back(store, t);
}

/* The room that will be free without evicting another table. */
static uint64_t room_to_come(const struct table_store *store)
{
	uint64_t room = pool_room(store->pool);

	for (const struct table *t = store->tables; t; t = t->next)
		if (t->is_leaving || (is_idle(t) && is_unused_for(store, t, TABLE_HOLD_NS)))
			room += t->n_cells;
	return room;
}

int table_find_room(struct table_store *store, struct table *t)
{
	int err;

	while ((err = pool_alloc(store->pool, t->n_cells, &t->cell)) < 0) {
		struct table *idle = NULL;

		if (room_to_come(store) >= t->n_cells)
			idle = least_recently_used(store, true);
		if (!idle)
			return err;
		free_idle(store, idle);
	}
	t->is_filling = true;
	return 0;
}

/* User space needs it as long as samples refer to the binary. If memory is short, native frames remain. */
static void keep_runtime(struct table *t, const uint64_t *cells)
{
	const struct dp_image *head = (const void *)cells;

	t->runtime_kind = head->runtime_kind;
	if (!runtime_is_known(head->runtime_kind) || t->runtime)
		return;
	t->runtime = malloc(sizeof(*t->runtime));
	if (!t->runtime)
		return;
	memcpy(t->runtime, head + 1, sizeof(*t->runtime));
}

void table_fill(struct table_store *store, struct table *t, const void *cells, uint64_t took)
{
	const struct dp_image *head = cells;

	pool_write(store->pool, t->cell, cells, t->n_cells);
	t->is_filling = false;
	t->labels_form = head->labels_form;
	t->other_labels = head->other_labels;
	keep_runtime(t, cells);
	t->last_used = t->made = clock_now_ns();
	t->made_in = took;
	t->n_failed = 0;
	t->wanted = 0;
	store->generation++;
	store->n_made++;
}

void table_fail(struct table_store *store, struct table *t, bool is_for_good)
{
	t->is_lost = is_for_good || ++t->n_failed == TABLE_MAX_FAILED;
	t->made = clock_now_ns();
	table_give_room_back(store, t);
}

void table_hold(struct table *t)
{
	if (t)
		t->n_mappings++;
}

void table_drop(struct table *t)
{
	if (t)
		t->n_mappings--;
}

void table_name(struct table *t)
{
	t->n_snapshots++;
}

void table_unname(struct table_store *store, struct table *t)
{
	if (--t->n_snapshots == 0 && t->is_leaving)
		table_give_room_back(store, t);
}

void table_want(struct table_store *store, struct table *t, uint64_t time)
{
	t->wanted = time;
	store->is_wanted = true;
}

static bool is_wanted(const struct table_store *store, const struct table *t)
{
	return (t->cell == DP_CELL_NONE || t->is_leaving) && t->wanted != 0 &&
	       t->wanted + TABLE_WANTED_NS > store->time;
}

/* Tables that do not fit together must not replace each other all the time. */
bool table_may_be_made(const struct table_store *store, const struct table *t)
{
	uint64_t wait = t->made_in * TABLE_BUILD_SHARE;

	return t->cell == DP_CELL_NONE && !t->is_lost && t->n_cells <= pool_size(store->pool) &&
	       t->made + (wait > TABLE_HOLD_NS ? wait : TABLE_HOLD_NS) <= store->time;
}

/*
 * Evicts tables until `room` cells will be free, if possible. If enough cells are free but not
 * contiguous, evicts one more.
 */
static void make_room(struct table_store *store, uint64_t room)
{
	uint64_t to_come = room_to_come(store), others = 0;
	bool is_any_leaving = false;
	struct table *oldest;

	for (const struct table *t = store->tables; t; t = t->next) {
		is_any_leaving |= t->is_leaving;
		if (!is_idle(t) && is_unused_for(store, t, TABLE_HOLD_NS))
			others += t->n_cells;
	}
	if (to_come + others < room || (to_come >= room && is_any_leaving))
		return;
	do {
		oldest = least_recently_used(store, false);
		if (!oldest)
			return;
		to_come += oldest->n_cells;
		evict(store, oldest);
	} while (to_come < room);
}

struct table *table_store_next(struct table_store *store)
{
	uint64_t room = 0;

	if (!store->is_wanted)
		return NULL;
	store->is_wanted = false;
	for (struct table *t = store->tables; t; t = t->next) {
		if (!is_wanted(store, t))
			continue;
		store->is_wanted = true;
		if (!table_may_be_made(store, t))
			continue;
		if (table_find_room(store, t) == 0)
			return t;
		room += t->n_cells;
		make_room(store, room);
	}
	return NULL;
}

void table_store_update(struct table_store *store, uint64_t time)
{
	store->time = time;
	if (time < store->looked + TABLE_HOLD_NS)
		return;
	store->looked = time;
	for (struct table *t = store->tables; t; t = t->next)
		if (is_idle(t) && is_unused_for(store, t, TABLE_IDLE_NS))
			free_idle(store, t);
}

bool table_store_shed(struct table_store *store)
{
	struct table *idle = least_recently_used(store, true);

	if (idle)
		free_idle(store, idle);
	else
		make_room(store, 1);
	return idle != NULL;
}
