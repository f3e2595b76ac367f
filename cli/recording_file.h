/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_RECORDING_FILE_H
#define DP_CLI_RECORDING_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/name_options.h"
#include "cli/recording_list.h"
#include "profiler/outputs.h"
#include "recording/recording_reader.h"

/* A recording given to a command, or a directory of them, with the messages about it. */
struct recording_file {
	const char *path;
	struct recording_list list; /* of a directory, made when that was opened */
	bool is_directory;
	size_t n_opened, n_unlike; /* of these; unlike: sampled differently from the first */
	size_t n_too_many;         /* not opened, because too many others were */
	FILE *file;                /* the present one */
	int open_err;              /* why there is none before recording_file_begin() */
	struct names *names;
	struct recording_reader *reader;
	const struct recording_names *options;
	size_t n_missing; /* binaries without names */
};

/*
 * Checks that a recording can be opened. To be called before opening outputs, which may wait for a pipe's reader. 0
 * or a negative errno, after a message.
 */
int recording_file_check(const char *path, const struct recording_names *options);

/*
 * Opens a recording. Call recording_file_begin() next, which starts reading it. The path, the options and the names,
 * which own its modules, must outlive it, and the structure must not move.
 * Both log errors. 0 or negative errno.
 */
int recording_file_open(const char *path, const struct recording_names *options,
			struct names *names, struct recording_file *ret);
int recording_file_begin(struct recording_file *recording);
/* Rewinds it, to be read again from the start with recording_file_begin(). */
void recording_file_rewind(struct recording_file *recording);
void recording_file_close(struct recording_file *recording);

/* Like recording_reader_run(). Warns of missing names and of an incomplete recording. */
int recording_file_run(struct recording_file *recording,
		       int (*fn)(void *arg, const struct sample *sample,
				 const struct totals *totals),
		       void *arg);

/* Logs and returns -EINVAL if an output is a recording itself, before it is overwritten. Else 0. */
int recording_file_check_outputs(const struct recording_file *recording,
				 const struct outputs *outputs);

#endif
