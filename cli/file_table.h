/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_FILE_TABLE_H
#define DP_CLI_FILE_TABLE_H

#include "sandbox/parsers.h"
#include "sandbox/table_view.h"

/* The unwind table of one file, as a parser has read it. */
struct file_table {
	const char *path; /* owned by the caller */
	struct table_view *view;
};

/*
 * Opens the file and lets a parser build its table. inode: of a file that was found in a process, and may have been
 * replaced since or never answer, so finders open it if there are any; 0: the user has named the file. Warns if its
 * debug file cannot be read. Returns 0 or the error of regular_file_open(), finders_look_up() or parsers_ask().
 * file_table_done() frees *ret.
 */
int file_table_init(struct file_table *ret, struct parsers *parsers, const char *path,
		    uint64_t inode, enum table_rows rows);
void file_table_done(struct file_table *table);

/* Describes an error of file_table_init() in words. */
const char *file_table_error(int err);

#endif
