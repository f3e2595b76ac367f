/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_REPORT_QUEUE_H
#define DP_REPORT_REPORT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/report.h"

/*
 * Samples on their way to the reports, which are written by a thread of their own: to
 * look up the first name in a large binary, or to write to a pipe that nobody reads,
 * takes longer than the kernel's rings have room for. That thread alone looks names
 * up, so that modules need no locks; until report_queue_finish() nobody else may.
 */
struct report_queue;

/* Bytes that may be waiting. Samples that come on top of that are lost, as nobody waits for a reader. */
#define REPORT_QUEUE_MAX ((size_t)256 << 20)

/*
 * Start the thread. The reports stay the caller's, the array too, and `names`, which their modules
 * are of. keeps_names: some of them, or what is printed at the end, ask for names of modules that
 * were closed. 0 or negative errno.
 */
int report_queue_new(struct report **reports, size_t n_reports, struct names *names,
		     bool keeps_names, struct report_queue **ret);

/* Is there no room for more samples? */
bool report_queue_is_full(struct report_queue *queue);

/* Have a copy of a sample reported. 0, or a negative errno of a report that has failed. */
int report_queue_add(struct report_queue *queue, const struct sample *sample,
		     const struct totals *totals);

/*
 * Have the file of a module closed, as no further sample is of it: after those that
 * wait. 0 or negative errno.
 */
int report_queue_close_module(struct report_queue *queue, struct module *module);

/*
 * Tell the reports that an interval is over, now (CLOCK_MONOTONIC), after the samples that wait. 0 or
 * negative errno.
 */
int report_queue_tick(struct report_queue *queue, const struct totals *totals, uint64_t now_ns);

/*
 * What becomes of a report whose time is over: it has all samples of that time, and totals is what
 * was counted in it. Called by the thread that looks names up, which `fn` may have done too; the
 * report is of no use when it returns. A negative errno is one of the report.
 */
typedef int (*report_taken_fn)(void *arg, struct report *report, const struct totals *totals);

/*
 * After the samples that wait, have another report take the place of number i, and fn called for
 * that one. The totals are those of now, a time of CLOCK_MONOTONIC. If report_queue_free() comes before
 * that, it is not called. 0 or negative errno.
 */
int report_queue_take(struct report_queue *queue, size_t i, struct report *report,
		      const struct totals *totals, uint64_t now_ns, report_taken_fn fn, void *arg);

/*
 * Since when the reports have kept samples: when the oldest took its place, or that forgets, was last
 * told that an interval is over (now_ns; 0: the start); UINT64_MAX: they all stream. No report
 * refers to a module that was closed before that, once what waits now is done.
 */
uint64_t report_queue_oldest_ns(struct report_queue *queue);

/* Have a function called by the thread, after what waits. 0, or a negative errno: it will not be. */
int report_queue_call(struct report_queue *queue, void (*fn)(void *object), void *object);

/* What was counted for report number i, when nothing waits any more. */
struct totals report_queue_totals(const struct report_queue *queue, size_t i,
				  const struct totals *now);

/* How many samples wait. */
size_t report_queue_size(struct report_queue *queue);

/* Report what waits, and end the thread. 0, or the negative errno of a report. */
int report_queue_finish(struct report_queue *queue);

/* What still waits is dropped. */
struct report_queue *report_queue_free(struct report_queue *queue);

#endif
