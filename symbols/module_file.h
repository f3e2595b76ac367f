/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_MODULE_FILE_H
#define DP_SYMBOLS_MODULE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* The file of a module that was recorded, looked for later, perhaps on another machine. */

/* What is known of it. */
struct module_file {
	const char *path;
	const char *build_id; /* hex; "": it has none */
	int64_t size;
	struct timespec written;
};

/*
 * Open the file: below the directory `root` (NULL: none), by its path or its name alone;
 * at its path; or, by its build id, its file of debug information, which has its symbols,
 * below root or /. It is the right one if it has the same build id, or where there is
 * none, the same size and time of last change. Returns 0, -ENOENT: there is none,
 * -ESTALE: only another file is there, or another negative errno.
 */
int module_file_open(const struct module_file *file, const char *root, int *ret_fd);

/*
 * The vDSO of this process, if it has that build id: a copy, the caller's to free().
 * Returns 0, -ESTALE, or -ENOMEM.
 */
int module_file_copy_vdso(const char *build_id, void **ret, size_t *ret_size);

#endif
