/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_DRAIN_H
#define DP_SAMPLES_DRAIN_H

#include <stdbool.h>

#include "kernel/session.h"
#include "process/process.h"
#include "process/sideband.h"
#include "report/report_queue.h"
#include "samples/off_cpu.h"
#include "samples/return_check.h"
#include "samples/copies.h"
#include "samples/held.h"
#include "samples/labels.h"
#include "samples/page_request.h"
#include "samples/queue.h"
#include "samples/unwinder.h"
#include "samples/verify.h"

/* Where the samples of a report end, and those of the next one begin. */
struct drain_boundary {
	uint64_t time_ns;     /* CLOCK_MONOTONIC; 0: there is none */
	uint64_t duration_ns; /* of sampling until then */
	size_t i;             /* number of the report */
	struct report *next;
	report_taken_fn taken;
	void *arg;
};

/*
 * From the kernel's records to samples in a report, in the order of their
 * times: told apart by binary, finished where the kernel could not, counted.
 */
struct drain {
	struct session *session;
	struct sideband *sideband;
	struct process_table *table;
	const struct filter *filter;
	struct unwinder *unwinder;
	struct verify *verify; /* NULL: no sample is */
	struct report_queue *report_queue;
	struct totals totals;
	uint64_t n_dropped, dropped_ns; /* lost on their way to the reports */
	struct off_cpu_intervals intervals;
	struct return_check return_check;
	struct label_sources label_sources; /* of the host */
	uint64_t cpu_value_ns;              /* what a sample of a CPU stands for; 0: an event */
	struct page_requests pages;
	/* Read from the rings, not reported yet */
	struct queue queue;
	/* And those of them that were reached, but wait for tables */
	struct held held;
	/* When the rings were read last: every record from before is in the queue, or was */
	uint64_t read_ns;
	/* Stacks whose samples have not arrived yet */
	struct copies copies;
	/* Processes that samples were met of, and that are not known */
	pid_t *unknown_pids;
	size_t n_unknown_pids, unknown_pids_size;
	struct drain_boundary boundary; /* that is not reached yet */
	/* The resolved frames of one sample */
	struct frame *frames;
};

/* All parts stay the caller's; verify may be NULL. 0 or -ENOMEM. */
int drain_init(struct drain *drain, struct session *session, struct sideband *sideband,
	       struct process_table *table, const struct filter *filter, struct unwinder *unwinder,
	       struct verify *verify, struct report_queue *report_queue);
void drain_done(struct drain *drain);

/*
 * Who reads the rings goes before what is profiled, or samples are lost where the machine
 * has more to do than it can: a ring has room for a fraction of a second. The threads of
 * the reports and of the target stay as they are. Without CAP_SYS_NICE it goes without.
 */
void drain_go_first(void);

/*
 * Read the records there are, and report samples whose order is certain, for
 * a few milliseconds; or all of them if `final`. Call it several times a
 * second, and at once again if it is behind. If too many samples wait by now,
 * records stay in the rings: what these have no room for is lost, and counted
 * by the kernel. If `final`, tables that are being made may be waited for, two
 * seconds at most.
 * 0 or negative errno.
 */
int drain_run(struct drain *drain, bool final);

/*
 * From a time on, which is not to come, have samples go to another report: see report_queue_take(). -EBUSY:
 * the boundary before is not reached yet.
 */
int drain_take(struct drain *drain, const struct drain_boundary *boundary);

/*
 * Sampling was stopped at that time: report the threads that are blocked still, with
 * their time so far. After this, nothing is reported any more. 0 or negative errno.
 */
int drain_finish_off_cpu(struct drain *drain, uint64_t stopped_ns);
bool drain_is_behind(const struct drain *drain);

#endif
