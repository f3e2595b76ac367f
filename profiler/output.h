/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_OUTPUT_H
#define DP_PROFILER_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Where the report goes. The file is opened first of all, so that one that
 * cannot be written is told before there are samples; what it held before is
 * kept until there is something to replace it. It is the file itself that is
 * written, no temporary one beside it: it may be a pipe, a device, or a link,
 * have readers already, or be in a directory where none can be made.
 */
struct output {
	const char *path;
	FILE *file;
	bool made; /* it did not exist before */
	bool begun;
};

/* Open the file, or stdout if path is NULL. `path` must outlive the output. 0 or -errno. */
int output_open(const char *path, struct output *ret);
/* There is something to write now: empty the file. 0 or -errno. */
int output_begin(struct output *output);
/*
 * Close it, and remove a file that was made for nothing. -errno if not
 * everything could be written.
 */
int output_close(struct output *output);

#endif
