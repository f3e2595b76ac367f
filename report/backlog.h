/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_BACKLOG_H
#define DP_REPORT_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>

#include "report/report.h"

/*
 * Samples on their way to the reports, which are written by a thread of their own: to
 * look up the first name in a large binary, or to write to a pipe that nobody reads,
 * takes longer than the kernel's rings have room for. That thread alone looks names
 * up, so that modules need no locks; until backlog_finish() nobody else may.
 */
struct backlog;

/* Bytes that may be waiting. Samples that come on top of that are lost, as nobody waits for a reader. */
#define BACKLOG_MAX ((size_t)256 << 20)

/*
 * Start the thread. The reports stay the caller's, the array too, and `names`, which their modules
 * are of. keeps_names: some of them, or what is printed at the end, ask for names of modules that
 * were closed. 0 or negative errno.
 */
int backlog_new(struct report **reports, size_t n_reports, struct names *names, bool keeps_names,
		struct backlog **ret);

/* Is there no room for more samples? */
bool backlog_is_full(struct backlog *backlog);

/* Have a copy of a sample reported. 0, or a negative errno of a report that has failed. */
int backlog_add(struct backlog *backlog, const struct sample *sample, const struct totals *totals);

/*
 * Have the file of a module closed, as no further sample is of it: after those that
 * wait. 0 or negative errno.
 */
int backlog_close_module(struct backlog *backlog, struct module *module);

/* Tell the reports that an interval is over, after the samples that wait. 0 or negative errno. */
int backlog_tick(struct backlog *backlog, const struct totals *totals);

/*
 * What becomes of a report whose time is over: it has all samples of that time, and totals is what
 * was counted in it. Called by the thread that looks names up, which `fn` may have done too; the
 * report is of no use when it returns. A negative errno is one of the report.
 */
typedef int (*report_taken_fn)(void *arg, struct report *report, const struct totals *totals);

/*
 * After the samples that wait, have another report take the place of number i, and fn called for
 * that one. The totals are those of now, a time of CLOCK_MONOTONIC. If backlog_free() comes before
 * that, it is not called. 0 or negative errno.
 */
int backlog_take(struct backlog *backlog, size_t i, struct report *report,
		 const struct totals *totals, uint64_t now_ns, report_taken_fn fn, void *arg);

/*
 * When the oldest of the reports took its place (now_ns of backlog_take(); 0: at the start). No
 * report refers to a module that was closed before that.
 */
uint64_t backlog_oldest_ns(struct backlog *backlog);

/* Have a function called by the thread, after what waits. 0, or a negative errno: it will not be. */
int backlog_call(struct backlog *backlog, void (*fn)(void *object), void *object);

/* What was counted for report number i, when nothing waits any more. */
struct totals backlog_totals(const struct backlog *backlog, size_t i, const struct totals *now);

/* How many samples wait. */
size_t backlog_size(struct backlog *backlog);

/* Report what waits, and end the thread. 0, or the negative errno of a report. */
int backlog_finish(struct backlog *backlog);

/* What still waits is dropped. */
struct backlog *backlog_free(struct backlog *backlog);

#endif
