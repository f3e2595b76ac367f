/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_TABLE_JOB_H
#define DP_BINARIES_TABLE_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "binaries/workers.h"
#include "cache/disk_cache.h"
#include "elf/elf_facts.h"
#include "sandbox/parsers.h"
#include "tables/image.h"

/*
 * A job that opens a binary's file and has a parser (sandbox/parsers.h) examine it and build its
 * table. Reading the file may take long. The caller passes in descriptors and gets back descriptors,
 * values and bytes. The job owns everything in here, or shares it, so that a worker needs no other
 * object of this program and may continue after the caller has gone.
 *
 * A new file is read first (TABLE_JOB_READ). The same job then builds its table (TABLE_JOB_MAKE);
 * by then the caller knows whether a file with the same build id already has one.
 */

struct exception_probe;
struct exception_probes;

/* Identifies a file without reading it. */
struct file_id {
	uint64_t device, inode;
	uint64_t size;
	uint64_t mtime_ns;
};

/* Where a process maps the file, as for mapped_file_open(). */
struct file_mapping {
	pid_t pid;
	uint64_t start, end;
	uint64_t inode;
};

/*
 * The cache as shared by jobs, also what may still be added to it (disk_cache.budget). It is closed
 * with its last user.
 */
struct job_cache;

/* NULL: no cache. The caller keeps `cache`. */
struct job_cache *job_cache_new(const struct disk_cache *cache);
struct job_cache *job_cache_hold(struct job_cache *cache);
/* Callable from any thread. NULL is allowed. Returns NULL. */
struct job_cache *job_cache_drop(struct job_cache *cache);

enum table_job_step { TABLE_JOB_READ, TABLE_JOB_MAKE };

struct table_job {
	struct job job;
	/* For the caller only; workers do not use it */
	struct binary *binary;   /* the one to load */
	struct binary *original; /* the one that original_fd belongs to, or NULL */
	struct table *table;     /* the one to rebuild; NULL: it is the first */

	/* Input */
	enum table_job_step step;
	int fd;                      /* of the file; -1: not opened yet, or in memory */
	int path_fd;                 /* refers to the file to open (mapped_file_find()), or -1: */
	struct file_mapping mapping; /* the file has to be looked up there */
	const void *memory;          /* the caller's; such a job must not go to workers */
	size_t memory_size;          /* of memory */
	bool is_dump;                /* a jitdump: its unwind information (symbols/jit_unwind.h) */
	bool is_object;          /* a copy of what a compiler has in memory (elf/jit_object.h) */
	pid_t asker;             /* the process that maps the file, for READ */
	uid_t user;              /* whose that is (sandbox/finders.h), for MAKE */
	pid_t pid;               /* whose root is searched for debug files; 0: none */
	char *path;              /* of the file, as that process sees it */
	int original_fd;         /* the file that has a table already; -1: none */
	struct parsers *parsers; /* NULL: the file is parsed in this process */
	struct job_cache *cache; /* NULL: no cache */
	/* To be set in the file, if it throws; NULL: they are not wanted */
	struct exception_probes *exceptions;
	uint64_t changed_ns; /* the cache is valid if the file has not changed since */

	/* Output: 0 or a negative errno of the last step, and its results */
	int err;
	bool is_unopened; /* opening the file failed */
	/* Of the file, for the caller. If there are finders, that of a foreign file only refers to it */
	int module_fd;
	struct file_id id;  /* of the file, when it was opened or when its table was built */
	bool is_foreign;    /* reading it may take long (stored_file_is_foreign()) */
	bool has_own_inode; /* stored_file_has_own_inode() */
	struct elf_facts facts;
	int debug_fd; /* from debug_search_process(); negative: none */
	bool is_copy; /* the original's table fits; there is no image */
	bool is_kept; /* the image is from the cache */
	struct image image;
	uint64_t took; /* ns, to build the image */
	/* Where it throws, with its first table; or NULL */
	struct exception_probe *probe;

	/* For workers, between the steps */
	bool is_parsed; /* origin is set */
	struct elf_origin origin;
	int frames_fd; /* of the debug file with the unwind information; -1: none */
};

/*
 * Returns what identifies the file, and when it last changed in any way. Unless may_wait, values
 * that its server sent earlier are used. 0 or a negative errno.
 */
int file_identify(int fd, bool may_wait, struct file_id *ret, uint64_t *ret_changed_ns);

/* Returns a job that begins with a step, without a file and a cache. NULL if memory is short. */
struct table_job *table_job_new(enum table_job_step step);
/* NULL is allowed. Returns NULL. */
struct table_job *table_job_free(struct table_job *job);

/*
 * Runs the job's step. Its errors are those of opening the file and of parsers_ask(); if a parser
 * fails, -EBADMSG, as for a damaged file, or -EAGAIN if it may not be the file's fault. After the second
 * step, or an error, the job has no file open. The caller takes over module_fd, debug_fd, the facts, the
 * image and the probe, and clears them in the job.
 */
void table_job_run(struct table_job *job);

#endif
