// SPDX-License-Identifier: Apache-2.0
#include "profiler/resting.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "kernel/filter.h"
#include "kernel/session.h"
#include "log/log.h"
#include "symbols/kallsyms.h"

static int find_threads(struct thread_snapshot *t, const struct target *target)
{
	int err = 0;

	if (target->n_tids == 0)
		return thread_snapshot_find(t, 0);
	for (size_t i = 0; err == 0 && i < target->n_tids; i++)
		err = thread_snapshot_find(t, target->tids[i]);
	return err;
}

static int take_process(struct resting *r, const struct profiler_options *o,
			struct process_table *table, struct unwinder *unwinder,
			const struct process *p)
{
	struct thread_snapshot *t;
	struct snapshot *snapshot;
	int err;

	if (array_reserve(r->snapshots, r->n, r->size) < 0)
		return -ENOMEM;
	err = process_snapshot(table, p, TIME_NEVER - 1, &snapshot);
	if (err < 0)
		return err;
	t = &r->snapshots[r->n++];
	thread_snapshot_init(t, &r->reader, unwinder, o->sides == DP_SIDES_KERNEL, p->pid);
	t->snapshot = snapshot;
	err = find_threads(t, &o->target);
	return err < 0 ? err : thread_snapshot_take(t, snapshot, p->thread);
}

static void drop_last(struct resting *r, struct process_table *table)
{
	struct thread_snapshot *t = &r->snapshots[--r->n];

	snapshot_free(&table->snapshots, (struct snapshot *)t->snapshot);
	thread_snapshot_done(t);
}

/* One that cannot be read, which may have ended, keeps nothing from the others. */
static int try_process(struct resting *r, const struct profiler_options *o,
		       struct process_table *table, struct unwinder *unwinder,
		       const struct process *p)
{
	size_t n = r->n;
	int err = take_process(r, o, table, unwinder, p);

	if (err == 0 || err == -ENOMEM)
		return err;
	if (r->n > n)
		drop_last(r, table);
	if (err == -ESRCH || err == -ENOENT)
		log_debug("PID %d has ended before its blocked threads were found", p->pid);
	else
		log_warning("threads of PID %d that are blocked already are left out: %s", p->pid,
			    strerror(-err));
	return 0;
}

int resting_take(struct resting *ret, const struct profiler_options *o, struct process_table *table,
		 struct unwinder *unwinder)
{
	bool kernel = o->sides != DP_SIDES_USER;
	struct process *p, *next;
	int err;

	*ret = (struct resting){ 0 };
	err = thread_reader_open(&ret->reader, kernel,
				 kernel && kallsyms_are_hidden("/proc/kallsyms"), o->btf);
	HASH_ITER(hh, table->processes, p, next)
		if (err == 0 && p->pid != getpid() &&
		    filter_matches_process(o->target.filter, p->pid))
			err = try_process(ret, o, table, unwinder, p);
	if (err < 0) {
		log_debug("threads that are blocked already are left out: %s", strerror(-err));
		resting_done(ret, table);
	}
	return err;
}

static bool is_wanted(const struct profiler_options *o, const struct thread_stack *s)
{
	if (s->state != THREAD_STILL || !(o->states >> s->thread.state & 1))
		return false;
	if (o->sides == DP_SIDES_USER && (s->thread.flags & DP_THREAD_NO_USER))
		return false;
	return filter_has_cpu(o->target.filter, s->thread.cpu);
}

/* Threads that the kernel does not take, and the last reason. */
struct refusals {
	size_t n;
	int err;
};

static int begin_thread(const struct thread_snapshot *t, const struct thread_stack *s,
			struct session *session, struct off_cpu_intervals *intervals,
			uint64_t started, struct frame *frames, struct refusals *refusals)
{
	const struct dp_blocked blocked = {
		.since_ns = started, .ran_ns = s->thread.ran_ns, .tid = s->thread.tid, .weight = 1
	};
	struct sample sample;
	int err;

	err = session_add_blocked(session, s->thread.kernel_tid, &blocked);
	if (err == -EEXIST)
		return 0;
	if (err < 0) {
		refusals->n++;
		refusals->err = err;
		return 0;
	}
	/* It may have ended before it was added, and then nobody takes it out. */
	if (tgkill((pid_t)s->thread.pid, (pid_t)s->thread.tid, 0) < 0 && errno == ESRCH) {
		session_drop_blocked(session, s->thread.kernel_tid);
		return 0;
	}
	thread_snapshot_sample(t, s, started, frames, &sample);
	return off_cpu_add(intervals, &sample);
}

int resting_begin(struct resting *r, const struct profiler_options *o, struct session *session,
		  struct off_cpu_intervals *intervals, uint64_t started)
{
	_cleanup_free_ struct frame *frames = calloc(DP_MAX_FRAMES, sizeof(*frames));
	int err = frames ? 0 : -ENOMEM;
	struct refusals refusals = { 0 };

	for (size_t i = 0; err == 0 && i < r->n; i++) {
		struct thread_snapshot *t = &r->snapshots[i];

		if (thread_snapshot_check(t) < 0)
			continue;
		for (size_t j = 0; err == 0 && j < t->n; j++)
			if (is_wanted(o, &t->stacks[j]))
				err = begin_thread(t, &t->stacks[j], session, intervals, started,
						   frames, &refusals);
	}
	if (refusals.n > 0)
		log_warning("%zu threads that are blocked already are left out: %s", refusals.n,
			    strerror(-refusals.err));
	return err;
}

void resting_done(struct resting *r, struct process_table *table)
{
	while (r->n > 0)
		drop_last(r, table);
	free(r->snapshots);
	thread_reader_close(&r->reader);
	*r = (struct resting){ 0 };
}
