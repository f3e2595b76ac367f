/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_KEPT_MEMORY_H
#define DP_SAMPLES_KEPT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/ring_record.h"
#include "report/sample.h"

struct report_queue;
struct session;

/*
 * Where memory was allocated that has not been given back: the kernel knows the pieces, each by the number of
 * its sample (bpf/alloc.bpf.h), and this the stacks of samples, by their number. Each stack of a process is kept
 * once.
 */
struct kept_memory {
	struct memory_site *sites; /* by process and stack */
	struct memory_site **of;   /* of a number; NULL: its sample has not come, or was not kept */
	size_t size;               /* of this array */
	uint64_t n_unknown;        /* pieces whose sample has not come */
};

void kept_memory_done(struct kept_memory *memory);

/* Of an allocation: sets the sample's value, and keeps its stack. Others are left alone. 0 or -ENOMEM. */
int kept_memory_add(struct kept_memory *memory, const struct named_sample *named,
		    struct sample *sample);

/*
 * Sampling has ended, and all samples have come: reports samples of what is held (DP_EVENT_HELD), and says
 * what is not known. 0 or a negative errno.
 */
int kept_memory_report(struct kept_memory *memory, const struct session *session,
		       struct report_queue *queue, struct totals *totals, uint64_t now_ns);

#endif
