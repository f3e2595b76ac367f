/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_OUTPUTS_H
#define DP_PROFILER_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "profiler/output.h"
#include "report/report.h"

/* A requested report. */
struct output_request {
	const char *path; /* NULL or "-": stdout; %p, %t, %h: see outputs_open() */
	const struct report_format *format;
	const struct group *by;          /* what stacks are grouped by, instead of context.by */
	bool wide;                       /* report_context.wide */
	const struct top_viewer *viewer; /* report_context.viewer */
};

/* The reports of a run with their files. */
struct outputs {
	struct output *files;
	char **paths; /* expanded; NULL: stdout */
	struct report **reports;
	struct piped **piped; /* which reports are written through; NULL: none */
	size_t n;
	int (*begin)(size_t i); /* another process's output_begin(); NULL: this one's */
};

/*
 * Opens the file of each request. Expands %p in paths to `pid`, the profiled process, %t to the
 * time as 20261231-235959, %h to the host name, and %% to a percent sign. Logs which file cannot be
 * opened. `end`: as for output_open(). 0, -ECANCELED, or another negative errno.
 */
int outputs_open(struct outputs *ret, const struct output_request *requests, size_t n, pid_t pid,
		 int end);

/* Makes the reports. The context's strings and the requests' groups must outlive them. 0 or -ENOMEM. */
int outputs_make_reports(struct outputs *outputs, const struct output_request *requests,
			 const struct report_context *context);

/*
 * Lets outputs_end() interrupt reports that are written during sampling and wait for a pipe's reader. After that, they
 * wait only for PIPED_PATIENCE_NS. `names`: see piped.h. 0 or a negative errno.
 */
int outputs_await_readers(struct outputs *outputs, const struct names *names);
void outputs_end(struct outputs *outputs);

/* Leaves it to another process, which has the same outputs, to begin them and to remove unused ones. */
void outputs_leave(struct outputs *outputs, int (*begin)(size_t i));

/* Truncates or replaces the files before the first write. Logs which cannot be. 0 or -EIO. */
int outputs_begin(struct outputs *outputs);

/* Finishes the reports. 0, or a report's negative errno. */
int outputs_finish(struct outputs *outputs, const struct totals *totals);

/* Did writing to a file fail? */
bool outputs_have_failed(const struct outputs *outputs);

/*
 * Closes the files. err: the run's error so far. Logs which file could not be written and returns
 * -EIO; otherwise returns err.
 */
int outputs_close(struct outputs *outputs, int err);

/* Logs which regular files were written, their sizes, and what to do with them. Close them first. */
void outputs_tell(const struct outputs *outputs, const struct output_request *requests);

/* Frees the reports, which may refer to what is freed before the outputs. */
void outputs_free_reports(struct outputs *outputs);

/* Likewise, and the rest. Close the files first. */
void outputs_done(struct outputs *outputs);

/* Does a report go to stdout? To stderr? */
bool outputs_use_stdout(const struct outputs *outputs);
bool outputs_use_stderr(const struct outputs *outputs);

#endif
