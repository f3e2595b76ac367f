/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_RECORDING_FILE_H
#define DP_CLI_RECORDING_FILE_H

#include <stdio.h>

#include "cli/name_options.h"
#include "report/recording_reader.h"

/* A recording that a command was given, and what there is to say about it on stderr. */
struct recording_file {
	const char *path;
	FILE *file;
	struct recording_reader *reader;
	const struct recording_names *options;
	size_t n_missing; /* binaries without names */
};

/*
 * Open it; `path`, the options and the names, of which its modules are, must outlive it, and it may
 * not be moved. Says what is wrong. 0 or negative errno.
 */
int recording_file_open(const char *path, const struct recording_names *options,
			struct names *names, struct recording_file *ret);
void recording_file_close(struct recording_file *recording);

/* As recording_reader_run(); warns of what is missing, and of a recording that is not whole. */
int recording_file_run(struct recording_file *recording,
		       int (*fn)(void *arg, const struct sample *sample,
				 const struct totals *totals),
		       void *arg);

#endif
