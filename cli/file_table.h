/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_FILE_TABLE_H
#define DP_CLI_FILE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "tables/image.h"

/* The unwind table of one file, made to be looked at, and its figures. */
struct file_table {
	const char *path; /* the caller's */
	int fd;
	struct elf_file elf;
	struct image image; /* no cells: the file has no unwind information */
	uint64_t build_ns;
	uint64_t n_rows;                    /* that image_for_each_row() shows */
	uint64_t *covered;                  /* by elf.code_sections: bytes with a rule */
	uint64_t code_bytes, covered_bytes; /* of all of them */
};

/*
 * Read the file and make its table. A file without unwind information has an
 * empty one. Returns 0, or what open(), elf_file_init_fd() and image_build()
 * return. file_table_done() releases *ret.
 */
int file_table_init(struct file_table *ret, const char *path);
void file_table_done(struct file_table *table);

/* What an error of file_table_init() means for the file, in words. */
const char *file_table_error(int err);

/* Bytes that the image takes. */
uint64_t file_table_size(const struct file_table *table);

#endif
