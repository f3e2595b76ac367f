/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_REPORT_QUEUE_H
#define DP_REPORT_REPORT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/report.h"

/*
 * Samples on their way to the reports, which a thread of its own writes: looking up the first name
 * in a large binary, or writing to a full pipe, takes longer than the kernel's rings can wait. Only
 * that thread looks up names, so modules need no locks; nobody else may until
 * report_queue_finish(). Another one reads what names frames of runtimes (frame_read()) meanwhile.
 */
struct report_queue;

/*
 * Starts the thread. The caller keeps the reports, the array, and `names`, which their modules use.
 * keeps_names: reports, or what is printed at the end, need names of closed modules. 0 or a
 * negative errno.
 */
int report_queue_new(struct report **reports, size_t n_reports, struct names *names,
		     bool keeps_names, struct report_queue **ret);

/*
 * Completes the labels of samples, as far as that may wait for other processes.
 */
struct label_finisher {
	/*
	 * Called by the queue's thread. *ret: a set in their place, which the queue frees; NULL:
	 * they stay as they are. 0 or -ENOMEM.
	 */
	int (*finish)(struct label_finisher *finisher, const struct label_set *labels,
		      struct label_set **ret);
	void (*free)(struct label_finisher *finisher); /* called when that has ended */
};

/* The queue takes it over, before the first sample. */
void report_queue_set_finisher(struct report_queue *queue, struct label_finisher *finisher);

/* True if there is no room for more samples. */
bool report_queue_is_full(struct report_queue *queue);

/*
 * Reports a copy of a sample, with the result of its verification, which it takes over even on
 * failure. 0, or a negative errno of a report that has failed.
 */
int report_queue_add(struct report_queue *queue, const struct sample *sample,
		     const struct totals *totals);

/*
 * Reads what names these frames (frame_read()) of a sample that will be added later, when its process may have ended.
 * What waits counts for report_queue_is_full(). 0, or a negative errno as above.
 */
int report_queue_read_code(struct report_queue *queue, const struct frame *frames, size_t n);

/*
 * Closes the file of a module that no further sample refers to, after the waiting ones. 0 or a
 * negative errno.
 */
int report_queue_close_module(struct report_queue *queue, struct module *module);

/*
 * Ends an interval in the reports, now (CLOCK_MONOTONIC), after the waiting samples. 0 or a
 * negative errno.
 */
int report_queue_tick(struct report_queue *queue, const struct totals *totals, uint64_t now_ns);

/*
 * Called with a report whose time is over: it has all samples of that time, and totals is what was
 * counted for it. Runs in the thread that looks up names, so `fn` may do so too; the report
 * cannot be used afterwards. A negative errno is that of the report.
 */
typedef int (*report_taken_fn)(void *arg, struct report *report, const struct totals *totals);

/*
 * After the waiting samples, another report replaces number i, and fn is called with the old one.
 * The totals are those of now, by CLOCK_MONOTONIC. If report_queue_free() comes first, fn is not
 * called. 0 or a negative errno.
 */
int report_queue_take(struct report_queue *queue, size_t i, struct report *report,
		      const struct totals *totals, uint64_t now_ns, report_taken_fn fn, void *arg);

/*
 * The time since which the reports have kept samples: the oldest report's start, or for one that
 * forgets, the last interval's end (now_ns; 0: the start); UINT64_MAX: all of them stream. Once the
 * present items are done, no report refers to a module that was closed before that time.
 */
uint64_t report_queue_oldest_ns(struct report_queue *queue);

/*
 * Calls a function in the thread, after the waiting items. 0, or a negative errno: it will not be
 * called.
 */
int report_queue_call(struct report_queue *queue, void (*fn)(void *object), void *object);

/* The totals of report number i, when nothing waits any more. */
struct totals report_queue_totals(const struct report_queue *queue, size_t i,
				  const struct totals *now);

/* The number of waiting samples. */
size_t report_queue_size(struct report_queue *queue);

/* Reports what waits, and ends the thread. 0, or the negative errno of a report. */
int report_queue_finish(struct report_queue *queue);

/* Drops what still waits. */
struct report_queue *report_queue_free(struct report_queue *queue);

#endif
