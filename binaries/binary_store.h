/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_BINARY_STORE_H
#define DP_BINARIES_BINARY_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "base/hash.h"
#include "binaries/binary.h"
#include "binaries/file_budget.h"
#include "binaries/image_cache.h"
#include "binaries/mapped_id.h"
#include "binaries/module_users.h"
#include "binaries/table.h"
#include "binaries/table_job.h"
#include "binaries/workers.h"
#include "kernel/pool.h"

struct cpu_budget;
struct exception_probes;
struct names;
struct parsers;

struct binary_store {
	struct names *names;
	struct table_store tables;
	struct binary *binaries;  /* by file */
	struct binary *mapped;    /* of these, by what records call them (mapped_id.h) */
	struct file_budget files; /* how many of these are whose */
	struct binary *originals; /* those that have or will have a table, by build id */
	struct binary *closed;    /* only reports still refer to these; the newest first */
	struct binary *vdso;
	bool vdso_tried;
	struct disk_cache *cache;      /* NULL: no cache */
	struct workers *workers;       /* NULL: callers wait for a binary to be loaded */
	struct cpu_budget *cpu_budget; /* the host's, of workers; NULL: no limit */
	struct parsers *parsers;       /* the host's. NULL: files are parsed in this process */
	struct job_cache *job_cache;   /* the same cache for jobs; NULL: none needed it yet */
	STAILQ_HEAD(, job) deferred;   /* for copies of a binary that is being loaded */
	STAILQ_HEAD(, job) done;       /* finished, but others have to be applied first */
	size_t n_jobs;                 /* unfinished ones */
	struct exception_probes *exceptions; /* the host's, to be set in files; NULL: none */
	const struct module_users *users; /* of sampled modules; NULL: only the store uses them */
	/* Whether the user has interrupted the startup, which stops building tables; or NULL */
	bool (*is_interrupted)(const void *arg);
	const void *interrupt_arg;
	uint64_t n_rows; /* of all tables built, each counted once */
	uint64_t n_cells;
	uint64_t n_known;          /* number of binaries so far */
	uint64_t looked;           /* when idle binaries were last looked for */
	bool symbols;              /* reports will need names */
	size_t n_unknown_runtimes; /* of sampled binaries: anyone can make many */
	size_t n_third_runtimes;   /* of these, too */
	bool has_warned;           /* that the pool has no room for all tables */
	bool has_warned_of_file;   /* that a file cannot be read for lack of permission */
	bool has_warned_of_many;   /* that there are more files than may be open */
};

/*
 * The caller keeps the pool, the names (which own the modules) and the cache. All of them must
 * outlive the store.
 */
void binary_store_init(struct binary_store *store, struct pool *pool, struct names *names);
void binary_store_done(struct binary_store *store);

/*
 * Lets threads read files and build tables from now on. If none can be started, the caller's thread
 * goes on doing so.
 */
void binary_store_start_workers(struct binary_store *store);

/*
 * Returns in *ret the binary of the file behind fd, which the store takes over. An fd that only
 * refers to the file (mapped_file_find()) is enough. Unless its table is in the pool, builds it and
 * puts it there if there is room. `path` is the file's name in the root of the process, which is
 * also searched for its debug file. With workers, the binary may be pending. Returns 0, a negative
 * errno for a file that cannot be opened or is no ELF file of this machine, -EMFILE if too many are
 * open (file_budget.h), or -ECANCELED.
 */
int binary_store_get(struct binary_store *store, pid_t pid, int fd, const char *path,
		     struct binary **ret);

/*
 * The same for an immutable copy of what the process's JIT compiler says of its code (elf/jit_object.h). Addresses
 * in the file are those in the process. It is freed with its last user. -EMFILE or -ENOSPC: the process's user has
 * too many.
 */
int binary_store_get_object(struct binary_store *store, pid_t pid, int fd, struct binary **ret);

/*
 * The same for the unwind information in a jitdump as it is when it is read. `size`: what this costs its user, for as
 * long as there is the binary.
 */
int binary_store_get_dump(struct binary_store *store, pid_t pid, int fd, uint64_t size,
			  struct binary **ret);

/*
 * The same for a file that has to be looked up first, as the mapping of a process at `mapping`. It
 * may turn out to be the same file as another binary.
 */
int binary_store_find_later(struct binary_store *store, const struct file_mapping *mapping,
			    const char *path, struct binary **ret);

/* Applies the results of finished jobs. True: something is no longer pending. */
bool binary_store_collect(struct binary_store *store);

/* Waits for workers for at most timeout_ms, then does the same. */
bool binary_store_wait(struct binary_store *store, int timeout_ms);

/*
 * Finds a binary by inode and path, for a process that has exited. The file must not have been
 * written to since. NULL: there is none.
 */
struct binary *binary_store_find(const struct binary_store *store, uint64_t inode,
				 const char *path);

/*
 * Called when all samples up to a time have been reported. Closes binaries that are no longer
 * mapped, frees unused tables, and rebuilds tables that samples have missed, as far as there is
 * room.
 */
void binary_store_update(struct binary_store *store, uint64_t time);

/* Whether the user has interrupted the startup (is_interrupted). */
bool binary_store_is_cancelled(const struct binary_store *store);

/* The vDSO, which is the same in all processes. */
int binary_store_get_vdso(struct binary_store *store, struct binary **ret);

#endif
