/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_HELD_H
#define DP_SAMPLES_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/process.h"
#include "samples/queue.h"

/*
 * Samples that have met code of a binary that is pending (binary_is_pending()): they carry their
 * stacks, and are walked when its table is there. They are held apart, so that those of other
 * processes are reported meanwhile. Those of the same process that come after them are held, too,
 * and the ends of off-CPU intervals that they are of: what is reported of a process stays in order.
 */
struct held {
	struct queued *entries; /* by time */
	size_t n, size;
	size_t n_bytes; /* that they take up */
};

/*
 * For so long at most, ns: what takes longer has the outcome that it had in the kernel. Meanwhile
 * mappings and tables that are gone have to be kept.
 */
#define HELD_NS UINT64_C(10000000000)
/* As many bytes at most. */
#define HELD_MAX (QUEUE_MAX / 2)

void held_done(struct held *held);

/* Is it to be held, after those that are? process: whose sample it is, if it is one, or NULL. */
bool held_wants(const struct held *held, const struct process *process,
		const struct queued *queued);

/* Takes it over, unless it is out of memory, -ENOMEM; else 0. Those of before are older. */
int held_add(struct held *held, struct process *process, const struct queued *queued);

/* When the oldest was taken; UINT64_MAX: there is none. */
uint64_t held_oldest(const struct held *held);

/* Has one waited long enough, or are there too many? Else only a table that was made frees some. */
bool held_is_due(const struct held *held, uint64_t before);

/*
 * Pass on what need not wait any more, in the order of their times: also what is from before
 * `before`, and the oldest of what is too much. A negative errno of report() ends it, and the rest
 * is held still.
 */
int held_release(struct held *held, const struct process_table *table, uint64_t before,
		 int (*report)(void *arg, const struct queued *queued), void *arg);

#endif
