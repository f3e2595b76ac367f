// SPDX-License-Identifier: Apache-2.0
#include "samples/unknown_pids.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "bpf/abi.h"
#include "process/process_table.h"

void unknown_pids_done(struct unknown_pids *u)
{
	free(u->all);
}

int unknown_pids_note(struct unknown_pids *u, const struct process_table *table,
		      const struct dp_sample *sample)
{
	const struct process *p = process_table_find(table, (pid_t)sample->pid);

	if ((p && p->left == TIME_NEVER) || sample->outcome == DP_NO_USER_STACK ||
	    sample->outcome == DP_COMPAT_MODE)
		return 0;
	if (array_reserve(u->all, u->n, u->size) < 0)
		return -ENOMEM;
	u->all[u->n++] = (pid_t)sample->pid;
	return 0;
}

int unknown_pids_take_in(struct unknown_pids *u, struct process_table *table, uint64_t now)
{
	bool found = false;
	int err = 0;

	for (size_t i = 0; err >= 0 && i < u->n; i++) {
		err = process_table_meet(table, u->all[i], now);
		found |= err > 0;
	}
	u->n = 0;
	if (err < 0)
		return err;
	return found ? process_table_publish(table, now) : 0;
}
