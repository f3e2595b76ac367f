// SPDX-License-Identifier: Apache-2.0
#include "process/space.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define CELLS(type) ((uint32_t)(sizeof(type) / DP_CELL_SIZE))

uint64_t mapping_cookie_address(const struct mapping *m)
{
	return m->bias + m->binary->elf.cookie_address;
}

bool mapping_has_cookie(const struct mapping *m)
{
	return m->binary->elf.cookie_address != 0 && mapping_cookie_address(m) < m->start &&
	       m->start - mapping_cookie_address(m) <= UINT32_MAX;
}

void mapping_hold(const struct mapping *m)
{
	binary_hold(m->binary);
	jitted_hold(m->jitted);
}

void mapping_drop(const struct mapping *m)
{
	binary_drop(m->binary);
	jitted_drop(m->jitted);
}

void space_store_init(struct space_store *store, struct pool *pool, struct table_store *tables)
{
	*store = (struct space_store){
		.pool = pool, .tables = tables, .next_id = 1, .next_layout = 1
	};
}

void space_store_done(struct space_store *store)
{
	struct space *s, *next;

	HASH_ITER(hh, store->spaces, s, next)
		space_free(store, s);
}

static int mapping_compare(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static uint32_t mapping_image(const struct mapping *m)
{
	return m->binary ? table_image(m->binary->table) : DP_CELL_NONE;
}

bool space_is_outdated(const struct space *space)
{
	for (size_t i = 0; i < space->n_mappings; i++)
		if (space->mappings[i].image != mapping_image(&space->mappings[i]))
			return true;
	return false;
}

/* Copy the mappings that live at a time into the space, sorted. */
static int space_collect(struct space *s, const struct mapping *mappings, size_t n, uint64_t time)
{
	s->mappings = calloc(n ? n : 1, sizeof(*s->mappings));
	if (!s->mappings)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!mappings[i].is_pending && mappings[i].born <= time && time < mappings[i].died)
			s->mappings[s->n_mappings++] = mappings[i];
	if (s->n_mappings > DP_MAX_MAPPINGS)
		s->n_mappings = DP_MAX_MAPPINGS;
	qsort(s->mappings, s->n_mappings, sizeof(*s->mappings), mapping_compare);
	for (size_t i = 0; i < s->n_mappings; i++) {
		struct mapping *m = &s->mappings[i];

		if (m->binary)
			m->binary->n_users++;
		jitted_hold(m->jitted);
		m->image = mapping_image(m);
		if (m->image >= DP_FIRST_CELL)
			table_name(m->binary->table);
	}
	return 0;
}

/* The space's mappings in the form that the walker reads; NULL: out of memory. */
static struct dp_mapping *space_mappings(const struct space *s, bool cookies)
{
	struct dp_mapping *mappings = calloc(s->n_mappings ? s->n_mappings : 1, sizeof(*mappings));

	for (size_t i = 0; mappings && i < s->n_mappings; i++) {
		const struct mapping *m = &s->mappings[i];

		mappings[i] = (struct dp_mapping){
			.start = m->start,
			.end = m->end,
			.bias = m->bias,
			.image = m->image,
		};
		if (cookies && m->has_cookie) {
			mappings[i].cookie = m->binary->elf.cookie;
			mappings[i].cookie_below = (uint32_t)(m->start - mapping_cookie_address(m));
		}
	}
	return mappings;
}

/* Find the space's layout among those of the others, or make it. */
static int space_find_layout(struct space_store *store, struct space *s, bool cookies)
{
	_cleanup_free_ struct dp_mapping *mappings = space_mappings(s, cookies);
	size_t size = s->n_mappings * sizeof(*mappings);
	struct layout *l;

	if (!mappings)
		return -ENOMEM;
	HASH_FIND(hh, store->layouts, mappings, size, l);
	if (!l) {
		l = calloc(1, sizeof(*l));
		if (!l)
			return -ENOMEM;
		HASH_ADD_KEYPTR(hh, store->layouts, mappings, size, l);
		if (!HASH_IS_ADDED(hh, l)) {
			free(l);
			return -ENOMEM;
		}
		l->number = store->next_layout++;
		l->mappings = steal_ptr(mappings);
	}
	l->n_spaces++;
	s->layout = l;
	return 0;
}

static void layout_drop(struct space_store *store, struct layout *l)
{
	if (!l || --l->n_spaces > 0)
		return;
	HASH_DEL(store->layouts, l);
	free(l->mappings);
	free(l);
}

/* Which mapping says where labels are: the first one whose image does, and is in the pool. */
static void space_find_labels(struct space *s)
{
	for (size_t i = 0; i < s->n_mappings && s->labels == 0; i++) {
		const struct mapping *m = &s->mappings[i];

		if (!m->binary || !m->binary->table || !m->binary->table->has_labels)
			continue;
		s->has_labels = true;
		if (m->image >= DP_FIRST_CELL)
			s->labels = (uint32_t)i + 1;
	}
}

/* Put the space into the pool; its id comes last. */
static int space_write(struct space_store *store, struct space *s)
{
	struct dp_space head = { .pid = (uint32_t)s->pid,
				 .n_mappings = (uint32_t)s->n_mappings,
				 .layout = s->layout->number,
				 .labels = s->labels };
	uint32_t n_cells = CELLS(head) + head.n_mappings * CELLS(struct dp_mapping);
	int err = pool_alloc_space(store->pool, n_cells, &s->cell);

	if (err < 0)
		return err;
	s->n_cells = n_cells;
	pool_write(store->pool, s->cell, &head, CELLS(head));
	pool_write(store->pool, s->cell + CELLS(head), s->layout->mappings, n_cells - CELLS(head));
	atomic_thread_fence(memory_order_release);
	pool_write(store->pool, s->cell, &s->id, CELLS(s->id));
	return 0;
}

int space_new(struct space_store *store, pid_t pid, const struct mapping *mappings, size_t n,
	      uint64_t time, bool cookies, struct space **ret)
{
	struct space *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->id = store->next_id++;
	s->pid = pid;
	HASH_ADD(hh, store->spaces, id, sizeof(s->id), s);
	if (!HASH_IS_ADDED(hh, s)) {
		free(s);
		return -ENOMEM;
	}
	err = space_collect(s, mappings, n, time);
	space_find_labels(s);
	if (err == 0)
		err = space_find_layout(store, s, cookies);
	if (err == 0)
		err = space_write(store, s);
	if (err < 0) {
		space_free(store, s);
		return err;
	}
	*ret = s;
	return 0;
}

struct space *space_free(struct space_store *store, struct space *s)
{
	if (!s)
		return NULL;
	HASH_DEL(store->spaces, s);
	if (s->n_cells > 0) {
		struct dp_space gone = { 0 };

		/* A walk that has not ended yet sees that its space is gone. */
		pool_write(store->pool, s->cell, &gone, CELLS(gone.id));
		atomic_thread_fence(memory_order_release);
		pool_write(store->pool, s->cell, &gone, CELLS(gone));
		pool_release(store->pool, s->cell, s->n_cells);
	}
	for (size_t i = 0; i < s->n_mappings; i++) {
		struct mapping *m = &s->mappings[i];

		if (m->image >= DP_FIRST_CELL)
			table_unname(store->tables, m->binary->table);
		if (m->binary)
			m->binary->n_users--;
		jitted_drop(m->jitted);
	}
	layout_drop(store, s->layout);
	free(s->mappings);
	free(s);
	return NULL;
}

void space_retire(struct space_store *store, struct space *s, uint64_t now)
{
	if (!s)
		return;
	s->retired = now;
	if (store->last_retired)
		store->last_retired->next_retired = s;
	else
		store->first_retired = s;
	store->last_retired = s;
}

void space_store_forget(struct space_store *store, uint64_t before)
{
	while (store->first_retired && store->first_retired->retired < before) {
		struct space *s = store->first_retired;

		store->first_retired = s->next_retired;
		if (!store->first_retired)
			store->last_retired = NULL;
		space_free(store, s);
	}
}

struct space *space_store_find(const struct space_store *store, uint64_t id)
{
	struct space *s;

	HASH_FIND(hh, store->spaces, &id, sizeof(id), s);
	return s;
}

const struct mapping *space_find(const struct space *space, uint64_t address)
{
	size_t lo = 0, hi = space->n_mappings;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (space->mappings[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 || address >= space->mappings[lo - 1].end)
		return NULL;
	return &space->mappings[lo - 1];
}
