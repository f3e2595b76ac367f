/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_TABLE_JOB_H
#define DP_BINARIES_TABLE_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "binaries/workers.h"
#include "cache/disk_cache.h"
#include "elf/elf_facts.h"
#include "elf/elf_file.h"
#include "tables/image.h"

/*
 * What is done with a binary's file, which may lie where reading it takes long: open it, find out
 * what it is, and make its table. The one who asks gives descriptors and gets descriptors, values and
 * bytes; all that is in here is the job's own, so that whoever runs it needs nothing else of this
 * program, and may go on when the asker is gone.
 *
 * A file that is new is read first (TABLE_JOB_READ), and the same job then makes its table
 * (TABLE_JOB_MAKE): by then it is known whether there is one of a file with the same build id.
 */

/* What tells files apart without reading them. */
struct file_id {
	uint64_t device, inode;
	uint64_t size;
	uint64_t mtime_ns;
};

/* A file that a process has mapped, as mapped_file_open() wants it. */
struct file_place {
	pid_t pid;
	uint64_t start, end;
	uint64_t inode;
};

/* The cache as jobs use it. It is closed with the last of them, or of those who ask for any. */
struct job_cache;

/* NULL: there is none. `cache` stays the caller's. */
struct job_cache *job_cache_new(const struct disk_cache *cache);
struct job_cache *job_cache_hold(struct job_cache *cache);
/* In any thread. NULL is nothing. Returns NULL. */
struct job_cache *job_cache_drop(struct job_cache *cache);

enum table_job_step { TABLE_JOB_READ, TABLE_JOB_MAKE };

struct table_job {
	struct job job;
	/* Nothing to those who run it */
	struct binary *binary;   /* whose it is */
	struct binary *original; /* whose file is original_fd, or NULL */
	struct table *table;     /* that is made again; NULL: it is the first one */

	/* What is asked for */
	enum table_job_step step;
	int fd;       /* of the file; -1: it is to be opened, or in memory */
	int place_fd; /* holds the file that is to be opened (mapped_file_find()), or -1: */
	struct file_place place; /* it is to be looked up, too */
	const void *memory;      /* the asker's; such a job is no worker's */
	size_t memory_size;      /* of it */
	pid_t pid;               /* in whose root debug files are looked for; 0: in none */
	char *path;              /* of the file, as that process sees it */
	int original_fd;         /* the file that a table was made of already; -1: there is none */
	struct job_cache *cache; /* NULL: there is none */
	uint64_t budget;         /* the cache's, when the job began */
	uint64_t changed_ns;     /* the cache counts if the file was not changed since */

	/* What there is: 0, or a negative errno of the last step, and what it has found */
	int err;
	bool is_unopened;  /* the error is of opening the file */
	int module_fd;     /* of the file, for the asker */
	struct file_id id; /* of the file, when it was opened, or when its table was made */
	bool is_foreign;   /* reading it may have to wait for others (disk_cache_is_foreign()) */
	struct elf_facts facts;
	int debug_fd; /* as process_debug_file_open(); negative: there is none */
	bool is_copy; /* the table is that of the original; there is no image */
	bool is_kept; /* the image is from the cache */
	struct image image;
	uint64_t took;        /* ns, to make the image */
	uint64_t budget_left; /* of the cache */

	/* Of those who run it, between the steps */
	struct elf_file elf;
};

/*
 * What tells the file apart, and when anything of it was last changed: as its server says, or, if
 * one may not wait for that, has said last. 0 or a negative errno.
 */
int file_identify(int fd, bool may_wait, struct file_id *ret, uint64_t *ret_changed_ns);

/* A job that begins with a step, without a file and a cache. NULL if memory is short. */
struct table_job *table_job_new(enum table_job_step step);
/* NULL is nothing. Returns NULL. */
struct table_job *table_job_free(struct table_job *job);

/*
 * Do its step. The errors are those of opening the file, of elf_file_init_fd(), or of image_build().
 * After the second step, or an error, the job has no file open or mapped any more. The asker takes
 * over module_fd, debug_fd, the facts and the image, and leaves nothing in their places.
 */
void table_job_run(struct table_job *job);

#endif
