/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_SNAPSHOT_H
#define DP_PROCESS_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "binaries/binary.h"
#include "binaries/jitted.h"
#include "kernel/pool.h"
#include "runtimes/hotspot/code.h"

/*
 * The executable mappings of one process at one time: a sorted copy that is put into the pool and
 * never changes. A sample refers to its snapshot, so that its addresses are resolved with exactly
 * the mappings that the kernel used.
 */

#define TIME_NEVER UINT64_MAX

struct mapping {
	uint64_t start, end;   /* end exclusive */
	uint64_t offset;       /* in the file */
	uint64_t bias;         /* address in the process minus address in the file */
	struct binary *binary; /* NULL: code that is in no file, such as a JIT's */
	bool is_unread;        /* then: it is in one that could not be opened or read */
	bool is_pending;       /* the binary is pending, so the rest is not known: not in a snapshot
	                  * yet */
	struct jitted *
		jitted; /* JIT code for reports; NULL: its binary has names, or they are not wanted */
	uint32_t image;        /* in a snapshot: the image for the kernel, see table_image() */
	bool has_cookie;       /* the walker compares the binary's cookie */
	bool is_third_runtime; /* in a snapshot: the walker reads two others */
	uint64_t born, died;   /* CLOCK_MONOTONIC ns; died is TIME_NEVER while it lives */
};

/* Do both contain the same code at the same place? Not if one is NULL. */
static inline bool mapping_is_same_code(const struct mapping *a, const struct mapping *b)
{
	return a && b && a->binary == b->binary && a->bias == b->bias;
}

/* True if a cookie exists where the walker can compare it. */
bool mapping_has_cookie(const struct mapping *mapping);
/* Its address in the process. */
uint64_t mapping_cookie_address(const struct mapping *mapping);

/* A sample has hit the mapping's binary (binary_use(), binary_tell_third()). */
void mapping_use(const struct mapping *mapping, pid_t pid);

/* To be called when a copy of a mapping is made, or discarded. */
void mapping_hold(const struct mapping *mapping);
void mapping_drop(const struct mapping *mapping);

/* Shared by snapshots whose mappings are the same for the walker: see struct dp_snapshot. */
struct memory_map {
	uint64_t number;
	size_t n_snapshots;
	struct dp_mapping *mappings;
	UT_hash_handle hh;
};

struct snapshot {
	uint64_t id;
	pid_t pid;
	struct memory_map *memory_map;
	uint32_t cell, n_cells; /* of its struct dp_snapshot, */
	uint32_t labels;        /* the mapping with labels */
	uint32_t runtime;       /* the mapping with a runtime, */
	uint32_t other_runtime; /* and one with a runtime of another kind */
	bool has_hotspot;
	struct dp_hotspot hotspot; /* of its JVM, if it has one */
	bool has_labels;           /* some mapping's table has labels, whether in the pool or not */
	uint64_t n_ended;          /* of the process's mappings at that time */
	uint64_t retired;          /* when another one replaced it */
	struct snapshot *next_retired;
	bool lacks_some; /* mappings that were pending, or too many */
	size_t n_mappings;
	struct mapping *mappings; /* sorted by start */
	UT_hash_handle hh;
};

struct snapshot_store {
	struct pool *pool;
	struct table_store *tables;
	struct snapshot *snapshots;                    /* by id */
	struct snapshot *first_retired, *last_retired; /* by time */
	uint64_t next_id;
	struct memory_map *memory_maps; /* by their mappings */
	uint64_t next_memory_map;
};

void snapshot_store_init(struct snapshot_store *store, struct pool *pool,
			 struct table_store *tables);
void snapshot_store_done(struct snapshot_store *store);

/*
 * Makes a snapshot of those mappings, sorted by address, that are not pending, with or without their
 * cookies. hotspot: of the process's JVM, or NULL. Returns 0, -ENOMEM or -ENOSPC.
 */
int snapshot_new(struct snapshot_store *store, pid_t pid, const struct mapping *const *mappings,
		 size_t n, const struct dp_hotspot *hotspot, bool cookies, struct snapshot **ret);
struct snapshot *snapshot_free(struct snapshot_store *store, struct snapshot *snapshot);

/* The binary whose labels the kernel reads in this snapshot, or NULL; which may be NULL. */
static inline const struct binary *snapshot_labelled(const struct snapshot *snapshot)
{
	return snapshot && snapshot->labels > 0 ? snapshot->mappings[snapshot->labels - 1].binary :
						  NULL;
}

/*
 * Whether there may be labels of these forms (binary_may_label()): the kernel may read them
 * (snapshot_labelled()), or not.
 */
bool snapshot_has_labels(const struct snapshot *snapshot, unsigned int forms);

/* True if a table has been added or evicted since. */
bool snapshot_is_outdated(const struct snapshot *snapshot);

/* The kernel does not use the snapshot any more, but samples in flight may: keeps it for them. */
void snapshot_retire(struct snapshot_store *store, struct snapshot *snapshot, uint64_t now);
/* Frees snapshots that were retired before a time. */
void snapshot_store_forget(struct snapshot_store *store, uint64_t before);

struct snapshot *snapshot_store_find(const struct snapshot_store *store, uint64_t id);

/* True if the walker may read code, or what describes it, at an address. */
bool snapshot_has_code(const struct snapshot *snapshot, uint64_t address);

/* The mapping that contains an address, or NULL. */
const struct mapping *snapshot_find(const struct snapshot *snapshot, uint64_t address);

#endif
