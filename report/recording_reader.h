/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_RECORDING_READER_H
#define DP_REPORT_RECORDING_READER_H

#include <stdio.h>

#include "report/report.h"

/* Reads a recording: gives its samples, with their binaries opened, to whoever reports them. */
struct recording_reader;

struct recording_options {
	struct names *names; /* the caller's: of these the modules will be */
	bool symbols;        /* names are wanted: look for the binaries */
	const char *root;    /* below this directory first; NULL: none */
	/* Told of each binary whose names there are not; err: -ENOENT, -ESTALE: another file is there, ... */
	void (*missing)(void *arg, const struct module *module, int err);
	void *arg;
};

#define RECORDING_WHY_SIZE 256

/*
 * Begin to read. `from` stays the caller's, and is used until the reader is freed. Returns
 * 0; -ENOMEM; or another negative errno for what is no recording, or none that can be read:
 * `why` is a sentence about it, as "this is not a recording".
 */
int recording_reader_new(FILE *from, const struct recording_options *options,
			 struct recording_reader **ret, char why[RECORDING_WHY_SIZE]);
/* Frees the modules, too, that reports may refer to. */
struct recording_reader *recording_reader_free(struct recording_reader *reader);

/* What was profiled; the strings live as long as the reader. */
const struct report_context *recording_reader_context(const struct recording_reader *reader);
/* What else is told of it: "version", of the dwarfprof that wrote it. NULL if it is not. */
const char *recording_reader_text(const struct recording_reader *reader, const char *key);

/*
 * Read it to its end, and call fn for each sample, with the totals so far, until it returns
 * other than 0, which is returned then. Returns 0 also if the recording is cut off or damaged;
 * -ENOMEM; or another negative errno.
 */
int recording_reader_run(struct recording_reader *reader,
			 int (*fn)(void *arg, const struct sample *sample,
				   const struct totals *totals),
			 void *arg);

/* After that: the totals, of the samples that were there. */
const struct totals *recording_reader_totals(const struct recording_reader *reader);
/* And what is wrong with the recording, as "cut off at byte 4711"; NULL: nothing. */
const char *recording_reader_fault(const struct recording_reader *reader);

#endif
