/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_OUTPUTS_H
#define DP_PROFILER_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "profiler/output.h"
#include "report/report.h"

/* A report that is asked for. */
struct output_request {
	const char *path; /* NULL or "-": stdout; %p, %t, %h: see outputs_open() */
	const struct report_format *format;
	const struct group *by; /* what stacks are told apart by, in place of context.by */
};

/* The reports of a run, and where they go. */
struct outputs {
	struct output *files;
	char **paths; /* expanded; NULL: stdout */
	struct report **reports;
	size_t n;
};

/*
 * Open the file of each request. In their paths, %p becomes `pid`, the number of the
 * process that is profiled, %t the time of day as 20261231-235959, %h the name of the
 * machine, %% a percent sign. Says which one cannot be opened. 0 or negative errno.
 */
int outputs_open(struct outputs *ret, const struct output_request *requests, size_t n, pid_t pid);

/* Make the reports; the context's strings, and the requests' groups, must outlive them. 0 or -ENOMEM. */
int outputs_make_reports(struct outputs *outputs, const struct output_request *requests,
			 const struct report_context *context);

/* There is something to write now: empty the files. 0 or negative errno. */
int outputs_begin(struct outputs *outputs);

/* Finish the reports: 0, or the negative errno of one of them. */
int outputs_finish(struct outputs *outputs, const struct totals *totals);

/* Is it the writing of a file that failed? */
bool outputs_have_failed(const struct outputs *outputs);

/*
 * Close the files. err: of the run so far. Says which file could not be written, and
 * returns -EIO then, else err.
 */
int outputs_close(struct outputs *outputs, int err);

/* Release the reports, after their files were closed. */
void outputs_done(struct outputs *outputs);

/* Does a report go to stdout? */
bool outputs_use_stdout(const struct outputs *outputs);

#endif
