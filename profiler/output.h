/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_OUTPUT_H
#define DP_PROFILER_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * The file of a report. It is opened before sampling, to report early if it cannot be written; its
 * old content stays until there is something to replace it. The file itself is written, instead of
 * renaming a temporary one: it may be a pipe, a device or a link, may have readers, or its
 * directory may not be writable.
 */
struct output {
	const char *path;
	FILE *file;
	bool made; /* the file was created here */
	bool begun;
};

/* Opens the file, or stdout if path is NULL. `path` must outlive the output. 0 or -errno. */
int output_open(const char *path, struct output *ret);
/* Truncates the file before the first write. 0 or -errno. */
int output_begin(struct output *output);
/*
 * Closes the file, and removes it if it was created here and stayed unused. -errno if writing
 * failed.
 */
int output_close(struct output *output);

#endif
