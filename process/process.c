// SPDX-License-Identifier: Apache-2.0
#include "process/process.h"

#include <utlist.h>

#include "kernel/proc_stat.h"
#include "log/clock.h"

void process_set_due(struct process *p)
{
	if (p->is_due || !p->due)
		return;
	p->is_due = true;
	DL_APPEND2(*p->due, p, prev_due, next_due);
}

/* Starts are in ticks, rounded down. */
bool process_is_same(const struct process *p)
{
	uint64_t at_most = p->exited < p->known_from ? p->exited : p->known_from;
	struct proc_stat stat;

	return proc_stat_read(p->pid, &stat) == 0 && !p->is_replaced &&
	       stat.started <= clock_to_boot_ns(at_most);
}
