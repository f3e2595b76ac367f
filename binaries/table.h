/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_TABLE_H
#define DP_BINARIES_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/pool.h"

struct binary;

/*
 * The unwind table of a binary and of its copies: the image in the pool, and who
 * uses it. What stands here stays while the image comes and goes:
 *
 *   - An image that no process has mapped is kept for a while, because programs
 *     are often started again and again. It makes room at once for one that is
 *     needed.
 *   - One that is mapped makes room only for one that samples have asked for,
 *     and only if no sample has met it lately. It is evicted: new snapshots do not
 *     name it any more, and its cells are free when the last one that does is gone.
 *
 * Time is that of the samples, CLOCK_MONOTONIC ns: of what was used after the
 * last sample that was reported, nothing is known yet.
 */

/* What no sample has met for so long may be evicted. */
#define TABLE_HOLD_NS UINT64_C(1000000000)
/* How long a table that nobody has mapped is kept. */
#define TABLE_IDLE_NS (60 * UINT64_C(1000000000))
/* How long it counts that a sample has asked for a table. */
#define TABLE_WANTED_NS (5 * UINT64_C(1000000000))
/* A table is made again after TABLE_HOLD_NS, or so many times what it took to make it. */
#define TABLE_BUILD_SHARE 10

struct table {
	struct binary *binary; /* the one that it is made of */
	uint32_t cell;         /* of its struct dp_image, DP_CELL_NONE: it is not in the pool */
	uint32_t n_cells;
	bool is_filling;    /* the cells are its own, but the image is being made still */
	bool is_leaving;    /* it has been evicted, but snapshots still name it */
	bool has_labels;    /* its image says where labels are */
	bool is_lost;       /* it cannot be made again: the file is another one now */
	size_t n_binaries;  /* that it is the table of */
	size_t n_mappings;  /* of processes, also what they unmapped a moment ago */
	size_t n_snapshots; /* mappings of snapshots that name the cell */
	uint64_t last_used; /* mapped, or met by a sample */
	uint64_t wanted;    /* when a sample last missed it */
	uint64_t made;      /* when the image was last made, and how long it took */
	uint64_t made_in;
	struct table *next;
};

struct table_store {
	struct pool *pool;
	struct table *tables;
	uint64_t time;       /* all samples from before are known */
	uint64_t generation; /* another one whenever snapshots have to be made anew */
	bool is_wanted;      /* some table may be */
	uint64_t looked;     /* when idle tables were last looked for */
	uint64_t n_made, n_freed, n_evicted;
};

void table_store_init(struct table_store *store, struct pool *pool);
void table_store_done(struct table_store *store);

/*
 * A table whose image has so many cells, and took so many ns to make. It is not in
 * the pool yet. The store owns it. 0 or -ENOMEM.
 */
int table_new(struct table_store *store, struct binary *binary, uint32_t n_cells, uint64_t took,
	      struct table **ret);

/* The last binary that it is the table of has gone: no process has it mapped. */
void table_free(struct table_store *store, struct table *table);

/*
 * Find room in the pool, for which idle tables may have to go. 0, or a negative
 * errno if there is none. It counts as evicted until table_fill() follows, or
 * table_give_room_back().
 */
int table_find_room(struct table_store *store, struct table *table);
void table_give_room_back(struct table_store *store, struct table *table);
/* Put the image there, which took so many ns to make. */
void table_fill(struct table_store *store, struct table *table, const void *cells, uint64_t took);

/* Would it be of use to make it again, and is it long enough ago that it was made? */
bool table_may_be_made(const struct table_store *store, const struct table *table);

/* What a dp_mapping says of it; table: NULL: there is none. */
uint32_t table_image(const struct table *table);

/* A mapping of a process came or went. NULL is nothing. */
void table_hold(struct table *table);
void table_drop(struct table *table);
/* A snapshot names its cell, or does not any more, and no walk can have found it there. */
void table_name(struct table *table);
void table_unname(struct table_store *store, struct table *table);

/* A sample has met it, or has missed it. */
static inline void table_use(struct table *table, uint64_t time)
{
	if (table && table->last_used < time)
		table->last_used = time;
}
void table_want(struct table_store *store, struct table *table, uint64_t time);

/*
 * Samples from before `time` have been reported, and so are their uses. Frees
 * what has been idle for long, and makes room for what is wanted.
 */
void table_store_update(struct table_store *store, uint64_t time);

/* A wanted table for which room has been found, to be made; NULL: none. */
struct table *table_store_next(struct table_store *store);

/* There is no room for a snapshot. True: now there is more; else there may be later. */
bool table_store_shed(struct table_store *store);

#endif
