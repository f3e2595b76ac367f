/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_BINARY_H
#define DP_BINARIES_BINARY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "binaries/image_cache.h"
#include "binaries/module_users.h"
#include "binaries/table.h"
#include "elf/elf_file.h"
#include "kernel/pool.h"
#include "symbols/module.h"

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
	uint64_t number;       /* no other one of the store has or had it */
	uint64_t changed_ns;   /* when the file last was, in any way (ctime), when it was read */
	struct module *module; /* owned */
	struct elf_file elf;
	struct table *table; /* the store's; NULL: it has no unwind information */
	size_t n_users;      /* mappings of processes and of spaces */
	uint64_t idle_from;  /* when it was first seen to have none; 0: it has some */
	bool is_sampled;     /* reports refer to its module (module_users) */
	uint64_t closed_ns;  /* when it was let go */
	struct binary *next_closed;
	bool debug_tried; /* its debug file was looked for in the root of a process (mapping.c) */
	UT_hash_handle hh;
	UT_hash_handle by_build_id; /* the first of its copies */
};

struct binary_store {
	struct names *names;
	struct table_store tables;
	struct binary *binaries;  /* by file */
	struct binary *originals; /* those with a table, by build id */
	struct binary *closed;    /* those that only reports refer to, the last one first */
	struct binary *vdso;
	bool vdso_tried;
	struct disk_cache *cache;         /* NULL: none */
	const struct module_users *users; /* of modules that were sampled; NULL: the store alone */
	/* NULL, or has the user enough before sampling begins? That is the end of making tables. */
	bool (*is_interrupted)(const void *arg);
	const void *interrupt_arg;
	uint64_t n_rows; /* of all tables made, each once */
	uint64_t n_cells;
	uint64_t n_known;        /* binaries there have been */
	uint64_t looked;         /* when idle binaries were last looked for */
	bool symbols;            /* a report will want names */
	bool has_warned;         /* that there is no room for all tables */
	bool has_warned_of_file; /* that one may not be read */
};

/* The pool, and the names, of which the modules are, stay the caller's, and outlive the store. */
void binary_store_init(struct binary_store *store, struct pool *pool, struct names *names);
void binary_store_done(struct binary_store *store);

/*
 * The binary behind fd, which the store takes over. Its table is built and put
 * into the pool if it is not there and the pool has room. `path` is how to call it. Returns 0, or a
 * negative errno for what is no ELF file of this machine, or -ECANCELED.
 */
int binary_store_get(struct binary_store *store, int fd, const char *path, struct binary **ret);

/*
 * A binary that is known by this path, for a process that cannot be asked any
 * more: its file has this inode, and was not written to. NULL: there is none.
 */
struct binary *binary_store_find(const struct binary_store *store, uint64_t inode,
				 const char *path);

/* A mapping of a process came or went. NULL is nothing. */
void binary_hold(struct binary *binary);
void binary_drop(struct binary *binary);

/*
 * Samples from before a time have been reported: let go of binaries that nobody
 * maps any more, with their descriptors, free the tables that nobody
 * uses any more, and make those again that samples have asked for, as there is room.
 */
void binary_store_update(struct binary_store *store, uint64_t time);

/* Is it in vain to go on? */
bool binary_store_is_cancelled(const struct binary_store *store);

/* The vDSO, which is the same in all processes. */
int binary_store_get_vdso(struct binary_store *store, struct binary **ret);

#endif
