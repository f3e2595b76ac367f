/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOADER_DRAIN_H
#define DP_LOADER_DRAIN_H

#include <stdbool.h>

#include "process.h"
#include "report.h"
#include "rescue.h"
#include "session.h"
#include "sideband.h"

/*
 * From the kernel's records to samples in a report, in the order of their
 * times: told apart by binary, finished where the kernel could not, counted.
 */
struct drain {
	struct session *session;
	struct sideband *sideband;
	struct process_table *table;
	struct rescue *rescue;
	struct report *report;
	struct totals totals;
	/* Read from the rings, not reported yet */
	struct queued *queue;
	size_t n_queue, queue_size;
	/* Stacks whose samples have not arrived yet */
	struct stack_copy **copies;
	size_t n_copies, copies_size;
	/* The resolved frames of one sample */
	struct frame *frames;
};

/* All parts stay the caller's. 0 or -ENOMEM. */
int drain_init(struct drain *drain, struct session *session, struct sideband *sideband,
	       struct process_table *table, struct rescue *rescue, struct report *report);
void drain_done(struct drain *drain);

/*
 * Read all records there are, and report samples whose order is certain, for
 * a few milliseconds; or all of them if `final`. Call it several times a
 * second, and at once again if it is behind. 0 or negative errno.
 */
int drain_run(struct drain *drain, bool final);
bool drain_is_behind(const struct drain *drain);

#endif
