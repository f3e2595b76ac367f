/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_BINARY_H
#define DP_BINARIES_BINARY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "binaries/file_budget.h"
#include "binaries/image_cache.h"
#include "binaries/mapped_id.h"
#include "binaries/module_users.h"
#include "binaries/table.h"
#include "binaries/table_job.h"
#include "binaries/workers.h"
#include "elf/elf_facts.h"
#include "kernel/pool.h"
#include "symbols/module.h"

/*
 * A binary that some process has mapped: its unwind table in the pool and the module that its names
 * are looked up in. There is one per file, however many processes map it and under whatever names.
 * Copies of the same file, such as each container has, share a table.
 *
 * Its file may be slow to read. In a store with workers, they open it, read it and build the table
 * (table_job.h). Until then the binary is pending and nothing is known about it.
 */

struct binary {
	struct file_id id;
	struct mapped_id mapped; /* device 0: no mapping of it was met whose record tells */
	uint64_t number;         /* unique in the store, never used again */
	uint64_t changed_ns;     /* ctime of the file when it was read */
	struct module *module;   /* owned */
	struct elf_facts elf;    /* empty until the file has been read */
	/* Of its mapped file or its module's memory; NULL: closed, or only helpers read it */
	const uint8_t *bytes;
	size_t n_bytes;
	uint64_t
		object_size; /* of generated code (binary_store_get_object()), copied; 0: it is not */
	bool is_dump;        /* of a jitdump, then */
	bool is_foreign;     /* reading the bytes may take long (stored_file_is_foreign()) */
	bool has_own_inode;  /* stored_file_has_own_inode(); false until the file has been read */
	bool is_loading;     /* its file is being read, or its first table is being built */
	uint64_t asked_ns;   /* loading started then */
	int err;             /* why it could not be loaded; it is then in no store. Or 0 */
	bool is_unopened;    /* opening the file failed */
	struct binary *same; /* another binary of the same file; or NULL */
	struct table *table; /* owned by the store; NULL: no unwind information */
	/* Where it throws exceptions; NULL: it does not, or they are not wanted */
	struct exception_probe *probe;
	uid_t user;         /* whose process has mapped it first */
	size_t n_users;     /* mappings of processes and of snapshots, and jobs */
	uint64_t idle_from; /* when it was first seen without users; 0: it has some */
	bool is_sampled;    /* reports refer to its module (module_users) */
	bool is_told_third; /* binary_tell_third() has told */
	size_t *n_unknown_runtimes, *n_third_runtimes; /* the store's */
	uint64_t closed_ns;                            /* when it was closed */
	struct binary *next_closed;
	UT_hash_handle hh;
	UT_hash_handle by_mapped;
	UT_hash_handle by_build_id; /* only the first of several copies; its table serves all */
};

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
 * The same for a copy of what the process's compiler says of its code (elf/jit_object.h), which nobody
 * writes to any more. Addresses in the file are those in the process. It
 * goes with its last user. -EMFILE or -ENOSPC: the process's user has too many.
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

/*
 * Whether it is being loaded or its table is being built. Ask again after binary_store_collect().
 */
static inline bool binary_is_pending(const struct binary *binary)
{
	return binary->is_loading || (binary->table && binary->table->is_filling);
}

/* A sample has it: reports refer to its module. Says once that its runtime's version is not known. */
void binary_use(struct binary *binary);

/* So has one of a process that has two other runtimes. Says once that the frames of this one are native. */
void binary_tell_third(struct binary *binary, pid_t pid);

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

/* Whether its file is open, and nobody has written to it since it was met. Does not wait. */
bool binary_is_unchanged(const struct binary *binary);

/*
 * Reads the `size` bytes of code that end at an address of the file; bytes before the start of its
 * section are 0. -ENOENT: there is no code (any more), or the binary is closed; -EAGAIN: reading it
 * may take long.
 */
int binary_read_before(const struct binary *binary, uint64_t end, void *ret, size_t size);

/* Whether the kernel can read its labels, of one of these forms: bits by enum dp_labels_form. NULL: no. */
static inline bool binary_has_labels(const struct binary *binary, unsigned int forms)
{
	return binary && binary->table && (forms >> binary->table->labels_form & 1);
}

/* Whether it has labels of one of these forms, which may be one that the kernel does not read. NULL: no. */
static inline bool binary_may_label(const struct binary *binary, unsigned int forms)
{
	return binary_has_labels(binary, forms) ||
	       (binary && binary->table && (forms & binary->table->other_labels) != 0);
}

/*
 * Called for each mapping of a process that begins or ends. NULL is allowed. A binary that could
 * not be read, or is the same as another one, is freed with its last user.
 */
void binary_hold(struct binary *binary);
void binary_drop(struct binary *binary);

/*
 * Keeps the binary, but not its table: snapshots name the table themselves (table_name()). NULL is
 * allowed.
 */
static inline void binary_pin(struct binary *binary)
{
	if (binary)
		binary->n_users++;
}

static inline void binary_unpin(struct binary *binary)
{
	if (binary)
		binary->n_users--;
}

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
