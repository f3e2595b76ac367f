// SPDX-License-Identifier: Apache-2.0
#include "samples/long_walks.h"

#include "log/clock.h"
#include "samples/queue.h"
#include "samples/resolver.h"
#include "samples/unwinder.h"

/* For so many times as long as one has taken there is no other one: a tenth of the time. */
#define PAUSE 10

bool long_walks_finish(struct long_walks *walks, struct unwinder *unwinder,
		       struct process_table *table, struct process *process,
		       const struct queued *queued, const struct snapshot *snapshot,
		       struct unwinder_result *walk)
{
	const uint64_t now = clock_now_ns(), began = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	struct unwinder_result found;

	if (now < walks->next_ns)
		return false;
	found = unwinder_walk(unwinder, queued->copy, snapshot);
	walks->next_ns = now + PAUSE * (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - began);
	/* The stack may be larger than its copy. */
	if (found.n_frames <= walk->n_frames ||
	    !resolver_is_certain(table, process, queued->sample, &found, snapshot))
		return false;
	*walk = found;
	return true;
}
