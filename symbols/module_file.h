/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_MODULE_FILE_H
#define DP_SYMBOLS_MODULE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct names;

/* Finds the file of a recorded module later, perhaps on another machine. */

/* What the recording has about it. */
struct module_file {
	const struct names *names; /* whose reader reads files (name_reader.h), if it has one */
	const char *path;
	const char *build_id; /* hex; "": it has none */
	int64_t size;
	struct timespec written;
};

/*
 * Opens the file: below the directory `root` (NULL: none) by its path or its name alone; at its
 * path; or its separate debug file, which has its symbols, by build id below root or /. The build
 * ID must match; without one, size and modification time must. Returns 0, -ENOENT if there is none,
 * -ESTALE if only another file is there, or another negative errno.
 */
int module_file_open(const struct module_file *file, const char *root, int *ret_fd);

/*
 * Copies the vDSO of this process if it has that build id. The caller calls free(). Returns 0,
 * -ESTALE or -ENOMEM.
 */
int module_file_copy_vdso(const char *build_id, void **ret, size_t *ret_size);

#endif
