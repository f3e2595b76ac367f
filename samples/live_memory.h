/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_LIVE_MEMORY_H
#define DP_SAMPLES_LIVE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/ring_record.h"
#include "report/sample.h"

struct report_queue;
struct session;

/*
 * Where memory that has not been freed was allocated. The kernel knows the allocations, each with the number of
 * its sample (bpf/alloc.bpf.h); this has the stacks of samples, by number. Each stack of a process is stored
 * once.
 */
struct live_memory {
	struct memory_site *sites; /* by process and stack */
	struct memory_site **of; /* by number; NULL: the sample has not arrived, or was not kept */
	size_t size;             /* of this array */
	uint64_t n_unknown;      /* allocations whose sample has not arrived */
};

void live_memory_done(struct live_memory *memory);

/* For a sample of an allocation, sets its value and keeps its stack; does nothing for others. 0 or -ENOMEM. */
int live_memory_add(struct live_memory *memory, const struct named_sample *named,
		    struct sample *sample);

/*
 * After sampling, when all samples have arrived: reports samples of held memory (DP_EVENT_HELD), and logs what
 * is not known. 0 or a negative errno.
 */
int live_memory_report(struct live_memory *memory, const struct session *session,
		       struct report_queue *queue, struct totals *totals, uint64_t now_ns);

#endif
