/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOADER_BINARY_H
#define DP_LOADER_BINARY_H

#include <stdint.h>
#include <sys/types.h>

#include "elf_file.h"
#include "hash.h"
#include "image_cache.h"
#include "interrupt.h"
#include "module.h"
#include "pool.h"
#include "table.h"

/*
 * A binary that some process has mapped: its unwind table, which is in the
 * pool, and what its names are found with. One for each file, however many
 * processes map it and under whatever names. Copies of one file, as every
 * container has them, share a table.
 */

/* What tells files apart without reading them. */
struct file_id {
	uint64_t device, inode;
	uint64_t size;
	uint64_t mtime_ns;
};

struct binary {
	struct file_id id;
	uint64_t changed_ns; /* when the file last was, in any way (ctime), when it was read */
	struct module module;
	struct elf_file elf;
	struct table *table; /* the store's; NULL: it has no unwind information */
	UT_hash_handle hh;
	UT_hash_handle by_build_id; /* the first of its copies */
};

struct binary_store {
	struct table_store tables;
	struct binary *binaries;  /* by file */
	struct binary *originals; /* those with a table, by build id */
	struct binary *vdso;
	void *vdso_copy;
	struct image_cache *cache;         /* NULL: none */
	const struct interrupt *interrupt; /* not NULL: a signal is the end of making tables */
	uint64_t n_rows;                   /* of all tables made, each once */
	uint64_t n_cells;
	bool has_warned; /* that there is no room for all tables */
};

void binary_store_init(struct binary_store *store, struct pool *pool);
void binary_store_done(struct binary_store *store);

/*
 * The binary behind fd, which the store takes over. Its table is built and put
 * into the pool if it is not there and the pool has room. `path` is how to call it. Returns 0, or a
 * negative errno for what is no ELF file of this machine, or -ECANCELED.
 */
int binary_store_get(struct binary_store *store, int fd, const char *path, struct binary **ret);

/*
 * Samples from before a time have been reported: free the tables that nobody
 * uses any more, and make those again that samples have asked for, as there is room.
 */
void binary_store_update(struct binary_store *store, uint64_t time);

/* Is it in vain to go on? */
bool binary_store_is_cancelled(const struct binary_store *store);

/* The vDSO, which is the same in all processes. */
int binary_store_get_vdso(struct binary_store *store, struct binary **ret);

#endif
