/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_FILE_TABLE_H
#define DP_CLI_FILE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "tables/image.h"

/* The unwind table of one file, with statistics. */
struct file_table {
	const char *path; /* owned by the caller */
	int fd;
	struct elf_file elf;
	struct image image; /* without cells if the file has no unwind information */
	uint64_t build_ns;
	uint64_t n_rows;                    /* as image_for_each_row() counts them */
	uint64_t *covered;                  /* bytes with a rule, by index in elf.code_sections */
	uint64_t code_bytes, covered_bytes; /* totals of all code sections */
};

/*
 * Reads the file and builds its table, which is empty if the file has no unwind information.
 * Returns 0 or the error of open(), elf_file_init_fd() or image_build(). file_table_done() frees
 * *ret.
 */
int file_table_init(struct file_table *ret, const char *path);
void file_table_done(struct file_table *table);

/* Describes an error of file_table_init() in words. */
const char *file_table_error(int err);

/* Size of the image in bytes. */
uint64_t file_table_size(const struct file_table *table);

#endif
