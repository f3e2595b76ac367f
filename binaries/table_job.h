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
 * What is done with a binary's file, which may lie where reading it takes long: find out what it
 * is, and make its table. The one who asks gives descriptors and gets values and bytes; all that
 * is in here is the job's own, so that whoever runs it needs nothing else of this program.
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

enum table_job_step { TABLE_JOB_READ, TABLE_JOB_MAKE };

struct table_job {
	struct job job;
	/* Nothing to those who run it */
	struct binary *binary;   /* whose it is */
	struct binary *original; /* whose file is original_fd, or NULL */
	struct table *table;     /* that is made again; NULL: it is the first one */

	/* What is asked for */
	enum table_job_step step;
	int fd;                  /* of the file, the asker's; -1: it is in memory */
	const void *memory;      /* the asker's; such a job is no worker's */
	size_t memory_size;      /* of it */
	pid_t pid;               /* in whose root debug files are looked for; 0: in none */
	char *path;              /* of the file, as that process sees it */
	int original_fd;         /* the file that a table was made of already; -1: there is none */
	struct disk_cache cache; /* a copy; its descriptor is the asker's, -1: there is none */
	uint64_t budget;         /* the cache's, when the copy was made */
	uint64_t changed_ns;     /* the cache counts if the file was not changed since */

	/* What there is: 0, or a negative errno of the last step, and what it has found */
	int err;
	struct file_id id; /* of the file, when its table was made */
	bool is_foreign;   /* reading it may have to wait for others (disk_cache_is_foreign()) */
	struct elf_facts facts;
	int debug_fd; /* as debug_file_open_for(); negative: there is none */
	bool is_copy; /* the table is that of the original; there is no image */
	bool is_kept; /* the image is from the cache */
	struct image image;
	uint64_t took; /* ns, to make the image */

	/* Of those who run it, between the steps */
	struct elf_file elf;
};

/* What tells the file apart, and when anything of it was last changed. 0 or a negative errno. */
int file_identify(int fd, struct file_id *ret, uint64_t *ret_changed_ns);

/* A job that begins with a step, without a file and a cache. NULL if memory is short. */
struct table_job *table_job_new(enum table_job_step step);
/* NULL is nothing. Returns NULL. */
struct table_job *table_job_free(struct table_job *job);

/*
 * Do its step. The errors are those of elf_file_init_fd(), or of image_build(). After the second
 * step, or an error, no file is mapped any more. The asker takes over debug_fd, the facts and the
 * image, and leaves nothing in their places.
 */
void table_job_run(struct table_job *job);

#endif
