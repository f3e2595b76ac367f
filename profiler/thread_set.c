// SPDX-License-Identifier: Apache-2.0
#include "profiler/thread_set.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "process/process_snapshot.h"
#include "profiler/profiler_options.h"
#include "symbols/kallsyms.h"

int thread_set_open(struct thread_set *ret, const struct profiler_options *o)
{
	bool kernel = o->sides != DP_SIDES_USER;

	*ret = (struct thread_set){
		.options = o,
		.is_hidden = kernel && kallsyms_are_hidden("/proc/kallsyms"),
	};
	return thread_reader_open(&ret->reader, kernel, ret->is_hidden, o->btf);
}

int thread_set_add(struct thread_set *set, struct process *p, struct thread_snapshot **ret)
{
	struct snapshot *snapshot = NULL;
	struct thread_snapshot *t;
	int err = 0;

	if (array_reserve(set->of, set->n, set->size) < 0)
		return -ENOMEM;
	if (p)
		err = process_snapshot(set->table, p, TIME_NEVER - 1, &snapshot);
	if (err < 0)
		return err;
	t = &set->of[set->n++];
	thread_snapshot_init(t, &set->reader, set->unwinder, set->table->fetchers, &set->memory,
			     set->options->sides == DP_SIDES_KERNEL, p ? p->pid : 0);
	t->has_runtimes = set->has_runtimes;
	t->snapshot = snapshot;
	t->thread = p ? p->thread : 0;
	*ret = t;
	return 0;
}

int thread_set_find(const struct thread_set *set, struct thread_snapshot *t)
{
	const struct target *target = &set->options->target;
	int err = 0;

	if (target->n_tids == 0)
		return thread_snapshot_find(t, 0);
	for (size_t i = 0; err == 0 && i < target->n_tids; i++)
		err = thread_snapshot_find(t, target->tids[i]);
	return err;
}

int thread_set_renew(struct thread_set *set, struct thread_snapshot *t)
{
	struct process *p = t->pid == 0 ? NULL : process_table_find(set->table, t->pid);
	struct snapshot *snapshot;
	int err;

	if (!p)
		return 0;
	err = process_snapshot(set->table, p, TIME_NEVER - 1, &snapshot);
	if (err < 0)
		return err;
	snapshot_free(&set->table->snapshots, (struct snapshot *)t->snapshot);
	t->snapshot = snapshot;
	t->thread = p->thread;
	return 0;
}

void thread_set_drop_last(struct thread_set *set)
{
	struct thread_snapshot *t = &set->of[--set->n];

	snapshot_free(&set->table->snapshots, (struct snapshot *)t->snapshot);
	thread_snapshot_done(t);
}

void thread_set_close(struct thread_set *set)
{
	while (set->n > 0)
		thread_set_drop_last(set);
	free(set->of);
	thread_reader_close(&set->reader);
	*set = (struct thread_set){ 0 };
}
