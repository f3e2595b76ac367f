/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_DRAIN_H
#define DP_SAMPLES_DRAIN_H

#include <stdbool.h>

#include "kernel/session.h"
#include "process/process_table.h"
#include "process/sideband.h"
#include "report/report_queue.h"
#include "samples/off_cpu.h"
#include "samples/return_check.h"
#include "samples/copies.h"
#include "samples/held.h"
#include "samples/live_memory.h"
#include "samples/labels.h"
#include "samples/last_wait.h"
#include "samples/long_walks.h"
#include "samples/page_request.h"
#include "samples/queue.h"
#include "samples/runtime_join.h"
#include "samples/spans.h"
#include "samples/ticks.h"
#include "samples/unknown_pids.h"
#include "samples/unwinder.h"
#include "samples/verify_queue.h"

/* The end of one report's samples and the beginning of the next one's. */
struct drain_boundary {
	uint64_t time_ns;     /* CLOCK_MONOTONIC; 0: none */
	uint64_t duration_ns; /* of sampling until then */
	size_t i;             /* number of the report */
	struct report *next;
	report_taken_fn taken;
	void *arg;
};

/*
 * Turns the kernel's records into samples of a report, in order of time: resolved to binaries,
 * finished where the kernel could not, and counted.
 */
struct drain {
	struct session *session;
	struct sideband *sideband;
	struct process_table *table;
	const struct filter *filter;
	struct unwinder *unwinder;
	struct verify_queue *verify; /* NULL: no sample is verified */
	struct report_queue *report_queue;
	struct totals totals;
	uint64_t n_dropped, dropped_ns; /* lost on the way to the reports */
	struct off_cpu_intervals intervals;
	struct return_check return_check;
	struct runtime_join runtime_join;
	struct label_sources label_sources; /* the host's */
	struct spans spans;                 /* the host sets what is its own */
	struct live_memory memory;
	struct last_wait last_wait; /* the host's */
	struct kallsyms *unread;    /* the host's; NULL: begun, or not wanted */
	uint64_t stopped_ns;        /* when sampling ended; 0: it goes on */
	uint64_t cpu_value_ns;      /* value of a CPU sample; 0: an event */
	struct page_requests pages;
	struct ticks ticks; /* the host's */
	/* Read from the rings, not reported yet */
	struct queue queue;
	/* Those that are due but wait for tables */
	struct held held;
	/* When the rings were last read: every earlier record has been queued */
	uint64_t read_ns;
	/* When the last urgent sample arrived: a late one, or one that needs a page */
	uint64_t hurried_ns;
	struct long_walks long_walks;
	/* When unused objects were last looked for; forgot_ns: among all processes */
	uint64_t swept_ns, forgot_ns;
	/* Stacks whose samples have not arrived yet */
	struct copies copies;
	struct unknown_pids unknown_pids;
	struct drain_boundary boundary; /* not reached yet */
	/* The resolved frames of one sample */
	struct frame *frames;
};

/* The caller keeps ownership of all parts; verify may be NULL. 0 or -ENOMEM. */
int drain_init(struct drain *drain, struct session *session, struct sideband *sideband,
	       struct process_table *table, const struct filter *filter, struct unwinder *unwinder,
	       struct verify_queue *verify, struct report_queue *report_queue);
void drain_done(struct drain *drain);

/*
 * Reads the available records, and reports samples whose order is certain, for a few milliseconds;
 * or all of them if `final`. Call it several times a second, and at once again if it is behind. If
 * too many samples wait, records stay in the rings; what does not fit is lost, and counted by the
 * kernel. If `final`, waits for tables in the making, see last_wait.h. Returns 0 or a negative
 * errno.
 */
int drain_run(struct drain *drain, bool final);

/* Brings the processes up to date, and leaves the samples where they are. 0 or a negative errno. */
int drain_processes(struct drain *drain);

/*
 * From a time on, which must not be in the future, samples go to another report: see
 * report_queue_take(). -EBUSY: the previous boundary is not reached yet.
 */
int drain_take(struct drain *drain, const struct drain_boundary *boundary);

/*
 * Sampling stopped at that time: reports the threads that are still blocked, with their time so
 * far. Nothing is reported after this. 0 or a negative errno.
 */
int drain_finish_off_cpu(struct drain *drain, uint64_t stopped_ns);
/* True: call drain_run() again at once. */
bool drain_is_behind(const struct drain *drain);

/* For how long after an urgent sample more are expected. */
#define DRAIN_HURRY_NS UINT64_C(1000000000)

/* Whether no urgent samples are expected, so that reading may wait. */
static inline bool drain_may_rest(const struct drain *drain, uint64_t now)
{
	return drain->boundary.time_ns == 0 && drain->held.n == 0 &&
	       now > drain->hurried_ns + DRAIN_HURRY_NS &&
	       now > drain->table->recorded_ns + DRAIN_HURRY_NS;
}

#endif
