/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_HELD_H
#define DP_SAMPLES_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/process_table.h"
#include "samples/queue.h"

/*
 * Samples whose stacks have code of a pending binary (binary_is_pending()). They have copies of their stacks, and are
 * walked when the table is ready; meanwhile, samples of other processes are reported. Later samples of the same
 * process, and the ends of their off-CPU intervals, are held too, so that each process's samples stay in order.
 */
struct held {
	struct queued *entries; /* by time */
	size_t n, size;
	size_t n_bytes; /* of all entries */
};

void held_done(struct held *held);

/* Whether a sample has to be held. process: the sample's, or NULL. */
bool held_wants(const struct held *held, const struct process *process,
		const struct queued *queued);

/* Takes ownership unless it returns -ENOMEM; else 0. Entries must be added in order of time. */
int held_add(struct held *held, struct process *process, const struct queued *queued);

/* Time of the oldest; UINT64_MAX: there is none. */
uint64_t held_oldest(const struct held *held);

/* Whether one has waited long enough, or there are too many. Otherwise, only a new table releases any. */
bool held_is_due(const struct held *held, uint64_t before);

/*
 * Passes on what need not wait any more, in order of time; also what is older than `before`, and
 * the oldest ones above the limit. A negative errno of report() ends it, and the rest stays held.
 */
int held_release(struct held *held, const struct process_table *table, uint64_t before,
		 int (*report)(void *arg, struct queued *queued), void *arg);

#endif
