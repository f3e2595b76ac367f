// SPDX-License-Identifier: Apache-2.0
#include "process/snapshot.h"

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

void mapping_use(const struct mapping *m, pid_t pid)
{
	binary_use(m->binary);
	if (m->is_third_runtime)
		binary_tell_third(m->binary, pid);
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

void snapshot_store_init(struct snapshot_store *store, struct pool *pool,
			 struct table_store *tables)
{
	*store = (struct snapshot_store){
		.pool = pool, .tables = tables, .next_id = 1, .next_memory_map = 1
	};
}

void snapshot_store_done(struct snapshot_store *store)
{
	struct snapshot *s, *next;

	HASH_ITER(hh, store->snapshots, s, next)
		snapshot_free(store, s);
}

static uint32_t mapping_image(const struct mapping *m)
{
	return m->binary ? table_image(m->binary->table) : DP_CELL_NONE;
}

bool snapshot_is_outdated(const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->n_mappings; i++)
		if (snapshot->mappings[i].image != mapping_image(&snapshot->mappings[i]))
			return true;
	return false;
}

/* Copies mappings into the snapshot. */
static int snapshot_collect(struct snapshot *s, const struct mapping *const *mappings, size_t n)
{
	s->mappings = calloc(n ? n : 1, sizeof(*s->mappings));
	if (!s->mappings)
		return -ENOMEM;
	for (size_t i = 0; i < n && s->n_mappings < DP_MAX_MAPPINGS; i++)
		if (!mappings[i]->is_pending)
			s->mappings[s->n_mappings++] = *mappings[i];
	s->lacks_some = s->n_mappings < n;
	for (size_t i = 0; i < s->n_mappings; i++) {
		struct mapping *m = &s->mappings[i];

		binary_pin(m->binary);
		jitted_hold(m->jitted);
		m->image = mapping_image(m);
		if (m->image >= DP_FIRST_CELL)
			table_name(m->binary->table);
	}
	return 0;
}

/* The snapshot's mappings in the walker's form; NULL: out of memory. */
static struct dp_mapping *snapshot_mappings(const struct snapshot *s, bool cookies)
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

/* Finds the snapshot's memory map among the existing ones, or makes it. */
static int snapshot_find_memory_map(struct snapshot_store *store, struct snapshot *s, bool cookies)
{
	_cleanup_free_ struct dp_mapping *mappings = snapshot_mappings(s, cookies);
	size_t size = s->n_mappings * sizeof(*mappings);
	struct memory_map *l;

	if (!mappings)
		return -ENOMEM;
	HASH_FIND(hh, store->memory_maps, mappings, size, l);
	if (!l) {
		l = calloc(1, sizeof(*l));
		if (!l)
			return -ENOMEM;
		HASH_ADD_KEYPTR(hh, store->memory_maps, mappings, size, l);
		if (!HASH_IS_ADDED(hh, l)) {
			free(l);
			return -ENOMEM;
		}
		l->number = store->next_memory_map++;
		l->mappings = steal_ptr(mappings);
	}
	l->n_snapshots++;
	s->memory_map = l;
	return 0;
}

static void memory_map_drop(struct snapshot_store *store, struct memory_map *l)
{
	if (!l || --l->n_snapshots > 0)
		return;
	HASH_DEL(store->memory_maps, l);
	free(l->mappings);
	free(l);
}

/* Finds the first mapping whose image is in the pool and has labels. */
static void snapshot_find_labels(struct snapshot *s)
{
	for (size_t i = 0; i < s->n_mappings && s->labels == 0; i++) {
		const struct mapping *m = &s->mappings[i];

		if (!m->binary || !m->binary->table ||
		    m->binary->table->labels_form == DP_LABELS_NONE)
			continue;
		s->has_labels = true;
		if (m->image >= DP_FIRST_CELL)
			s->labels = (uint32_t)i + 1;
	}
}

bool snapshot_has_labels(const struct snapshot *s, unsigned int forms)
{
	for (size_t i = 0; s->has_labels && i < s->n_mappings; i++)
		if (binary_may_label(s->mappings[i].binary, forms))
			return true;
	return false;
}

/* The first mapping whose image is in the pool and describes another kind of runtime. 0: none. */
static uint32_t snapshot_next_runtime(const struct snapshot *s, uint32_t kind)
{
	for (size_t i = 0; i < s->n_mappings; i++) {
		const struct mapping *m = &s->mappings[i];

		if (m->image >= DP_FIRST_CELL && m->binary->table->runtime &&
		    m->binary->table->runtime_kind != kind)
			return (uint32_t)i + 1;
	}
	return 0;
}

/* The kernel reads frames of two kinds (DP_RUNTIME_TWO). */
static void mark_others(const struct snapshot *s)
{
	const uint32_t known[] = {
		s->mappings[s->runtime - 1].binary->table->runtime_kind,
		s->mappings[s->other_runtime - 1].binary->table->runtime_kind,
	};

	for (size_t i = 0; i < s->n_mappings; i++) {
		struct mapping *m = &s->mappings[i];

		m->is_third_runtime = m->image >= DP_FIRST_CELL && m->binary->table->runtime &&
				      m->binary->table->runtime_kind != known[0] &&
				      m->binary->table->runtime_kind != known[1];
	}
}

/* V8's frames have numbers of native ones, so they are put in their places first. */
static void snapshot_find_runtimes(struct snapshot *s)
{
	uint32_t kind;

	s->runtime = snapshot_next_runtime(s, DP_RUNTIME_NONE);
	if (s->runtime == 0)
		return;
	kind = s->mappings[s->runtime - 1].binary->table->runtime_kind;
	s->other_runtime = snapshot_next_runtime(s, kind);
	if (s->other_runtime > 0)
		mark_others(s);
	if (s->other_runtime > 0 &&
	    s->mappings[s->other_runtime - 1].binary->table->runtime_kind == DP_RUNTIME_V8) {
		uint32_t first = s->runtime;

		s->runtime = s->other_runtime;
		s->other_runtime = first;
	}
}

/* Writes the snapshot to the pool, its id last. */
static int snapshot_write(struct snapshot_store *store, struct snapshot *s)
{
	struct dp_snapshot head = { .pid = (uint32_t)s->pid,
				    .n_mappings = (uint32_t)s->n_mappings,
				    .memory_map = s->memory_map->number,
				    .labels = s->labels,
				    .runtime = s->runtime,
				    .other_runtime = s->other_runtime };
	uint32_t mappings_cells = head.n_mappings * CELLS(struct dp_mapping);
	uint32_t n_cells = CELLS(head) + mappings_cells;
	int err;

	if (s->has_hotspot) {
		head.hotspot = n_cells;
		n_cells += CELLS(s->hotspot);
	}
	err = pool_alloc_snapshot(store->pool, n_cells, &s->cell);
	if (err < 0)
		return err;
	s->n_cells = n_cells;
	pool_write(store->pool, s->cell, &head, CELLS(head));
	pool_write(store->pool, s->cell + CELLS(head), s->memory_map->mappings, mappings_cells);
	if (s->has_hotspot)
		pool_write(store->pool, s->cell + head.hotspot, &s->hotspot, CELLS(s->hotspot));
	atomic_thread_fence(memory_order_release);
	pool_write(store->pool, s->cell, &s->id, CELLS(s->id));
	return 0;
}

int snapshot_new(struct snapshot_store *store, pid_t pid, const struct mapping *const *mappings,
		 size_t n, const struct dp_hotspot *hotspot, bool cookies, struct snapshot **ret)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->id = store->next_id++;
	s->pid = pid;
	s->has_hotspot = hotspot != NULL;
	if (hotspot)
		s->hotspot = *hotspot;
	HASH_ADD(hh, store->snapshots, id, sizeof(s->id), s);
	if (!HASH_IS_ADDED(hh, s)) {
		free(s);
		return -ENOMEM;
	}
	err = snapshot_collect(s, mappings, n);
	snapshot_find_labels(s);
	snapshot_find_runtimes(s);
	if (err == 0)
		err = snapshot_find_memory_map(store, s, cookies);
	if (err == 0)
		err = snapshot_write(store, s);
	if (err < 0) {
		snapshot_free(store, s);
		return err;
	}
	*ret = s;
	return 0;
}

struct snapshot *snapshot_free(struct snapshot_store *store, struct snapshot *s)
{
	if (!s)
		return NULL;
	HASH_DEL(store->snapshots, s);
	if (s->n_cells > 0) {
		struct dp_snapshot gone = { 0 };

		/* A walk still in progress notices that its snapshot is gone. */
		pool_write(store->pool, s->cell, &gone, CELLS(gone.id));
		atomic_thread_fence(memory_order_release);
		pool_write(store->pool, s->cell, &gone, CELLS(gone));
		pool_release(store->pool, s->cell, s->n_cells);
	}
	for (size_t i = 0; i < s->n_mappings; i++) {
		struct mapping *m = &s->mappings[i];

		if (m->image >= DP_FIRST_CELL)
			table_unname(store->tables, m->binary->table);
		binary_unpin(m->binary);
		jitted_drop(m->jitted);
	}
	memory_map_drop(store, s->memory_map);
	free(s->mappings);
	free(s);
	return NULL;
}

void snapshot_retire(struct snapshot_store *store, struct snapshot *s, uint64_t now)
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

void snapshot_store_forget(struct snapshot_store *store, uint64_t before)
{
	while (store->first_retired && store->first_retired->retired < before) {
		struct snapshot *s = store->first_retired;

		store->first_retired = s->next_retired;
		if (!store->first_retired)
			store->last_retired = NULL;
		snapshot_free(store, s);
	}
}

struct snapshot *snapshot_store_find(const struct snapshot_store *store, uint64_t id)
{
	struct snapshot *s;

	HASH_FIND(hh, store->snapshots, &id, sizeof(id), s);
	return s;
}

const struct mapping *snapshot_find(const struct snapshot *snapshot, uint64_t address)
{
	size_t lo = 0, hi = snapshot->n_mappings;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (snapshot->mappings[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 || address >= snapshot->mappings[lo - 1].end)
		return NULL;
	return &snapshot->mappings[lo - 1];
}

bool snapshot_has_code(const struct snapshot *snapshot, uint64_t address)
{
	return snapshot_find(snapshot, address) ||
	       (snapshot->has_hotspot && hotspot_code_has(&snapshot->hotspot, address));
}
