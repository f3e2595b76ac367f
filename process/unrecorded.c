// SPDX-License-Identifier: Apache-2.0
#include "process/unrecorded.h"

#include "kernel/proc_stat.h"
#include "log/clock.h"

#define LOOK_NS (10 * UINT64_C(1000000000))

bool unrecorded_unmaps(const struct process *p)
{
	return p->mappings.n_living > p->max_mappings + jit_objects_n_mappings(p->jit_objects);
}

void unrecorded_exits(struct process_table *table)
{
	uint64_t now = clock_now_ns();
	struct process *p, *next;

	if (now < table->looked + LOOK_NS)
		return;
	table->looked = now;
	HASH_ITER(hh, table->processes, p, next)
		if (p->exited == TIME_NEVER && proc_stat_is_gone(p->pid))
			p->exited = now;
}
