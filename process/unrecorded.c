// SPDX-License-Identifier: Apache-2.0
#include "process/unrecorded.h"

#include <errno.h>
#include <signal.h>

#include "log/clock.h"

#define LOOK_NS (10 * UINT64_C(1000000000))

bool unrecorded_unmaps(const struct process *p)
{
	size_t n = 0;

	if (p->n_mappings <= p->max_mappings)
		return false;
	for (size_t i = 0; i < p->n_mappings; i++)
		n += p->mappings[i].died == TIME_NEVER;
	return n > p->max_mappings;
}

void unrecorded_exits(struct process_table *table)
{
	uint64_t now = clock_now_ns();
	struct process *p, *next;

	if (now < table->looked + LOOK_NS)
		return;
	table->looked = now;
	HASH_ITER(hh, table->processes, p, next)
		if (p->exited == TIME_NEVER && kill(p->pid, 0) < 0 && errno == ESRCH)
			p->exited = now;
}
