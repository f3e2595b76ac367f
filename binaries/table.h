/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_TABLE_H
#define DP_BINARIES_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/pool.h"

struct binary;

/*
 * The unwind table of a binary and its copies: the image in the pool and its users. The struct
 * remains while images come and go:
 *
 *   - An image that no process maps is kept for a while, since programs are often restarted. It
 *     is evicted at once when another image needs the room.
 *   - One that is mapped is evicted only for one that samples have asked for, and only if no
 *     sample has hit it lately. New snapshots then no longer refer to it; its cells are freed
 *     with the last snapshot that does.
 *
 * Times are those of samples, in ns of CLOCK_MONOTONIC. What has been used since the last
 * reported sample is not known yet.
 */

/* A table may be evicted if no sample has hit it for this long. */
#define TABLE_HOLD_NS UINT64_C(1000000000)
/* How long an unmapped table is kept. */
#define TABLE_IDLE_NS (60 * UINT64_C(1000000000))
/* How long a sample's request for a table counts. */
#define TABLE_WANTED_NS (5 * UINT64_C(1000000000))
/*
 * A table is rebuilt after TABLE_HOLD_NS, or this many times the time it took to build if longer.
 */
#define TABLE_BUILD_SHARE 10

struct table {
	struct binary *binary; /* the one that it is built from */
	uint32_t cell;         /* of its struct dp_image; DP_CELL_NONE: not in the pool */
	uint32_t n_cells;
	bool is_filling;      /* the cells are reserved, but the image is still being built */
	bool is_leaving;      /* evicted, but snapshots still refer to it */
	uint32_t labels_form; /* as in struct dp_image */
	uint32_t other_labels;
	struct dp_runtime_image *runtime; /* a copy of its image's; NULL: none, or not known yet */
	uint32_t runtime_kind;            /* as in struct dp_image */
	bool is_lost;       /* it cannot be rebuilt, for example if the file has changed */
	uint32_t n_failed;  /* builds in a row that failed */
	size_t n_binaries;  /* those that share it */
	size_t n_mappings;  /* of processes, including recently unmapped ones */
	size_t n_snapshots; /* mappings of snapshots that refer to its cell */
	uint64_t last_used; /* when it was last mapped or hit by a sample */
	uint64_t wanted;    /* when a sample last missed it */
	uint64_t made;      /* when the image was last built, and how long that took */
	uint64_t made_in;
	struct table *next;
};

struct table_store {
	struct pool *pool;
	struct table *tables;
	uint64_t time;       /* all earlier samples are known */
	uint64_t generation; /* changes whenever snapshots have to be renewed */
	bool is_wanted;      /* some table may be wanted */
	uint64_t looked;     /* when idle tables were last looked for */
	uint64_t n_made, n_freed, n_evicted;
	uint64_t n_from_cache; /* of those made, kept by an earlier run */
};

void table_store_init(struct table_store *store, struct pool *pool);
void table_store_done(struct table_store *store);

/*
 * Adds a table whose image has n_cells cells and took `took` ns to build. It is not in the pool
 * yet. The store owns it. 0 or -ENOMEM.
 */
int table_new(struct table_store *store, struct binary *binary, uint32_t n_cells, uint64_t took,
	      struct table **ret);

/* Frees a table whose last binary is gone; no process maps it. */
void table_free(struct table_store *store, struct table *table);

/*
 * Reserves room in the pool, evicting idle tables if necessary. 0, or a negative errno if there is
 * none. The table counts as evicted until table_fill() or table_give_room_back().
 */
int table_find_room(struct table_store *store, struct table *table);
void table_give_room_back(struct table_store *store, struct table *table);
/* Writes the image to its cells; it took `took` ns to build. */
void table_fill(struct table_store *store, struct table *table, const void *cells, uint64_t took);

/*
 * Building the image has failed. Unless it is for good, or the third time, it is tried again later.
 */
void table_fail(struct table_store *store, struct table *table, bool is_for_good);

/*
 * Whether it is not in the pool, would fit there, can still be rebuilt, and its last build was long
 * enough ago (TABLE_BUILD_SHARE).
 */
bool table_may_be_made(const struct table_store *store, const struct table *table);

/* What a dp_mapping refers to for it. NULL: there is no table. */
uint32_t table_image(const struct table *table);

/* Called for each mapping of a process that begins or ends. NULL is allowed. */
void table_hold(struct table *table);
void table_drop(struct table *table);
/* A snapshot refers to its cell, or no longer does; by then no walk can still use it. */
void table_name(struct table *table);
void table_unname(struct table_store *store, struct table *table);

/* A sample hit or missed it. */
static inline void table_use(struct table *table, uint64_t time)
{
	if (table && table->last_used < time)
		table->last_used = time;
}
void table_want(struct table_store *store, struct table *table, uint64_t time);

/*
 * Called when samples up to `time` have been reported and their uses noted. Frees tables that have
 * been idle for long and makes room for wanted ones.
 */
void table_store_update(struct table_store *store, uint64_t time);

/* Returns a wanted table that has room now, for the caller to build; NULL: none. */
struct table *table_store_next(struct table_store *store);

/* A snapshot has no room. True: there is more now. Otherwise there may be some later. */
bool table_store_shed(struct table_store *store);

#endif
