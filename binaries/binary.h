/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_BINARY_H
#define DP_BINARIES_BINARY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "binaries/image_cache.h"
#include "binaries/module_users.h"
#include "binaries/table.h"
#include "binaries/table_job.h"
#include "binaries/workers.h"
#include "elf/elf_facts.h"
#include "kernel/pool.h"
#include "symbols/module.h"

/*
 * A binary that some process has mapped: its unwind table, which is in the
 * pool, and what its names are found with. One for each file, however many
 * processes map it and under whatever names. Copies of one file, as every
 * container has them, share a table.
 *
 * Its file may be slow: workers open it, read it and make the table (table_job.h), for a store that
 * has some. Until they are done, the binary is pending, and nothing is known of it.
 */

struct binary {
	struct file_id id;
	uint64_t number;       /* no other one of the store has or had it */
	uint64_t changed_ns;   /* when the file last was, in any way (ctime), when it was read */
	struct module *module; /* owned */
	struct elf_facts elf;  /* empty until it was read */
	const uint8_t *bytes;  /* its file's, mapped, or its module's memory; NULL: it is closed */
	size_t n_bytes;
	bool is_foreign;     /* to read the bytes may take long (disk_cache_is_foreign()) */
	bool is_loading;     /* it is being read, or its first table made */
	uint64_t asked_ns;   /* since when */
	int err;             /* why nothing is known of it: it is in no store any more; or 0 */
	bool is_unopened;    /* it could not even be opened */
	struct binary *same; /* whose file this one turned out to be; or NULL */
	struct table *table; /* the store's; NULL: it has no unwind information */
	size_t n_users;      /* mappings of processes and of snapshots, and jobs */
	uint64_t idle_from;  /* when it was first seen to have none; 0: it has some */
	bool is_sampled;     /* reports refer to its module (module_users) */
	uint64_t closed_ns;  /* when it was let go */
	struct binary *next_closed;
	UT_hash_handle hh;
	UT_hash_handle
		by_build_id; /* the first of its copies, of which the table is or will be made */
};

struct binary_store {
	struct names *names;
	struct table_store tables;
	struct binary *binaries;  /* by file */
	struct binary *originals; /* those with a table, or to have one, by build id */
	struct binary *closed;    /* those that only reports refer to, the last one first */
	struct binary *vdso;
	bool vdso_tried;
	struct disk_cache *cache;         /* NULL: none */
	struct workers *workers;          /* NULL: who asks for a binary waits for it */
	struct job_cache *job_cache;      /* the same for jobs; NULL: none has asked for it yet */
	STAILQ_HEAD(, job) deferred;      /* jobs of copies of what is being loaded */
	STAILQ_HEAD(, job) done;          /* those that others are to come before */
	size_t n_jobs;                    /* not finished yet */
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

/*
 * The pool, and the names, of which the modules are, stay the caller's, and outlive the store; the
 * cache, too.
 */
void binary_store_init(struct binary_store *store, struct pool *pool, struct names *names);
void binary_store_done(struct binary_store *store);

/* From now on, have files read and tables made by threads. Without them, if that fails. */
void binary_store_start_workers(struct binary_store *store);

/*
 * The binary behind fd, which the store takes over, and which need only hold the file
 * (mapped_file_find()). Its table is built and put
 * into the pool if it is not there and the pool has room. `path` is how to call it, in the root of
 * a process, where its debug file may be, too. With workers, the binary may be pending. Returns 0,
 * or a negative errno for what cannot be opened or is no ELF file of this machine, or -ECANCELED.
 */
int binary_store_get(struct binary_store *store, pid_t pid, int fd, const char *path,
		     struct binary **ret);

/*
 * The same for a file that has to be looked up first, by what a process has mapped at `place`. It
 * may turn out to be the same as another one.
 */
int binary_store_find_later(struct binary_store *store, const struct file_place *place,
			    const char *path, struct binary **ret);

/* Is it, or its table, being made? Who has asked for it is to ask again after binary_store_collect(). */
static inline bool binary_is_pending(const struct binary *binary)
{
	return binary->is_loading || (binary->table && binary->table->is_filling);
}

/* Take what workers have done. True: something is not pending any more. */
bool binary_store_collect(struct binary_store *store);

/* Wait for workers for at most so many milliseconds. True: it was of use, as above. */
bool binary_store_wait(struct binary_store *store, int timeout_ms);

/*
 * A binary that is known by this path, for a process that cannot be asked any
 * more: its file has this inode, and was not written to. NULL: there is none.
 */
struct binary *binary_store_find(const struct binary_store *store, uint64_t inode,
				 const char *path);

/*
 * The bytes of code that end at an address of the file; those that would lie in front of its
 * section are 0. -ENOENT if it has no code there, or was closed; -EAGAIN if these would have to be
 * waited for.
 */
int binary_read_before(const struct binary *binary, uint64_t end, void *ret, size_t size);

/*
 * A mapping of a process came or went. NULL is nothing. A binary that could not be read, or is the
 * same as another one, is freed with its last one.
 */
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
