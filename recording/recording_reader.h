/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RECORDING_RECORDING_READER_H
#define DP_RECORDING_RECORDING_READER_H

#include <stdio.h>

#include "report/report.h"

/* Reads a recording: passes its samples, with their binaries opened, to a report. */
struct recording_reader;

struct recording_options {
	struct names *names; /* the caller's; modules use them */
	bool symbols;        /* names are wanted: look for the binaries */
	const char *root;    /* search below this directory first; NULL: none */
	/* Only samples of this time of day, CLOCK_REALTIME; to_real_ns 0: no end. */
	uint64_t from_real_ns, to_real_ns;
	/*
	 * Called for each binary without names; err: -ENOENT, -ESTALE: another file is there, ...
	 */
	void (*missing)(void *arg, const struct module *module, int err);
	void *arg;
};

#define RECORDING_WHY_SIZE 256

/*
 * Starts reading. The caller keeps `from`, which is used until the reader is freed. Returns 0;
 * -ENOMEM; or another negative errno if it is not a recording or cannot be read: `why` is a
 * sentence about it, such as "this is not a recording".
 */
int recording_reader_new(FILE *from, const struct recording_options *options,
			 struct recording_reader **ret, char why[RECORDING_WHY_SIZE]);
/*
 * Goes on with another recording, as if it were the rest of the last one: totals are those of both.
 * The same file of a binary is the same module. Returns as recording_reader_new(), and -EMEDIUMTYPE
 * if the samples cannot be added up, because they are of other events, or of another rate unless
 * recording_reader_count_time() was called. After an error, it may be called again.
 */
int recording_reader_continue(struct recording_reader *reader, FILE *from,
			      char why[RECORDING_WHY_SIZE]);
/* True if this recording is like the first one but for its rate. The caller closes the file. */
bool recording_reader_differs_in_rate(const struct recording_reader *reader, FILE *other);
/* Counts samples by the time that each stands for, if they have a rate. Before reports are made. */
void recording_reader_count_time(struct recording_reader *reader);
/* Also frees the modules, to which reports may refer. */
struct recording_reader *recording_reader_free(struct recording_reader *reader);

/* What was profiled; the strings live as long as the reader. */
const struct report_context *recording_reader_context(const struct recording_reader *reader);
/* Another fact about it, such as "version", of the dwarfprof that wrote it; NULL: missing. */
const char *recording_reader_text(const struct recording_reader *reader, const char *key);

/*
 * Reads to the end, and calls fn for each sample, with the totals so far, until it returns a value
 * other than 0, which is returned. Returns 0 also if the recording is cut off or damaged; -ENOMEM;
 * or another negative errno.
 */
int recording_reader_run(struct recording_reader *reader,
			 int (*fn)(void *arg, const struct sample *sample,
				   const struct totals *totals),
			 void *arg);

/* After that: the totals of the samples that were read. */
const struct totals *recording_reader_totals(const struct recording_reader *reader);
/* And the defect of the recording, such as "cut off at byte 4711"; NULL: none. */
const char *recording_reader_fault(const struct recording_reader *reader);

#endif
