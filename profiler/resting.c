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
#include "log/clock.h"
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

/* p: NULL: the kernel's threads, which have no mappings. */
static int take_threads(struct resting *r, const struct process *p)
{
	const struct profiler_options *o = r->options;
	struct snapshot *snapshot = NULL;
	struct thread_snapshot *t;
	int err = 0;

	if (array_reserve(r->snapshots, r->n, r->size) < 0)
		return -ENOMEM;
	if (p)
		err = process_snapshot(r->table, p, TIME_NEVER - 1, &snapshot);
	if (err < 0)
		return err;
	t = &r->snapshots[r->n++];
	thread_snapshot_init(t, &r->reader, r->unwinder, &r->memory, o->sides == DP_SIDES_KERNEL,
			     p ? p->pid : 0);
	t->snapshot = snapshot;
	err = find_threads(t, &o->target);
	/* Who moves now will be seen to block, or is looked at again by then. */
	if (err == 0)
		err = thread_snapshot_take(t, snapshot, p ? p->thread : 0, 0);
	r->n_threads += t->n;
	return err;
}

static void drop_last(struct resting *r)
{
	struct thread_snapshot *t = &r->snapshots[--r->n];

	snapshot_free(&r->table->snapshots, (struct snapshot *)t->snapshot);
	r->n_threads -= t->n;
	thread_snapshot_done(t);
}

/* One that cannot be read, which may have ended, keeps nothing from the others. */
static int try_process(struct resting *r, const struct process *p)
{
	size_t n = r->n;
	int err;

	if (r->n_threads >= RESTING_MAX_THREADS || clock_now_ns() >= r->until_ns) {
		r->n_left_out++;
		return 0;
	}
	err = take_threads(r, p);
	if (err == 0 || err == -ENOMEM)
		return err;
	if (r->n > n)
		drop_last(r);
	if (err == -ESRCH || err == -ENOENT)
		log_debug("PID %d has ended before its blocked threads were found", p ? p->pid : 0);
	else
		log_warning("threads of PID %d that are blocked already are left out: %s",
			    p ? p->pid : 0, strerror(-err));
	return 0;
}

static int take_all(struct resting *r)
{
	const struct profiler_options *o = r->options;
	struct process *p, *next;
	int err = 0;

	if (o->target.all && o->sides != DP_SIDES_USER)
		err = try_process(r, NULL);
	HASH_ITER(hh, r->table->processes, p, next)
		if (err == 0 && p->pid != getpid() &&
		    filter_matches_process(o->target.filter, p->pid))
			err = try_process(r, p);
	return err;
}

int resting_take(struct resting *ret, const struct profiler_options *o, struct process_table *table,
		 struct unwinder *unwinder)
{
	uint64_t now = clock_now_ns();
	bool kernel = o->sides != DP_SIDES_USER;
	int err;

	*ret = (struct resting){ .options = o,
				 .table = table,
				 .unwinder = unwinder,
				 .until_ns = now + RESTING_TAKE_NS };
	err = thread_reader_open(&ret->reader, kernel,
				 kernel && kallsyms_are_hidden("/proc/kallsyms"), o->btf);
	if (err == 0)
		err = take_all(ret);
	if (err < 0) {
		log_debug("threads that are blocked already are left out: %s", strerror(-err));
		resting_done(ret);
		return err;
	}
	if (ret->n_left_out > 0)
		log_warning("threads of %zu processes that are blocked already are left out, "
			    "because there are too many",
			    ret->n_left_out);
	log_debug("looked at %zu threads of %zu processes in %.1f ms", ret->n_threads, ret->n,
		  (double)(clock_now_ns() - now) / 1e6);
	return 0;
}

static bool is_wanted(const struct profiler_options *o, const struct thread_snapshot *t,
		      const struct thread_stack *s)
{
	const struct filter *filter = o->target.filter;

	if (s->state != THREAD_STILL || !(o->states >> s->thread.state & 1))
		return false;
	if (o->sides == DP_SIDES_USER && (s->thread.flags & DP_THREAD_NO_USER))
		return false;
	if (!filter_has_cpu(filter, s->thread.cpu))
		return false;
	/* Each of the kernel's threads is a process; others' has been asked. */
	return t->pid != 0 || !filter_by_process(filter) ||
	       filter_matches_process(filter, (pid_t)s->thread.pid);
}

/* The beginning of all intervals. */
struct beginning {
	struct resting *resting;
	struct session *session;
	struct off_cpu_intervals *intervals;
	uint64_t started;
	struct frame *frames; /* room for one stack */
	size_t n;             /* threads that begin */
	size_t n_refused;     /* that the kernel does not take, and the last reason */
	int refusal;
};

static int begin_thread(struct beginning *b, const struct thread_snapshot *t,
			const struct thread_stack *s)
{
	const struct dp_blocked blocked = { .since_ns = b->started,
					    .ran_ns = s->thread.ran_ns,
					    .tid = s->thread.tid,
					    .weight = 1 };
	struct sample sample;
	int err;

	err = session_add_blocked(b->session, s->thread.kernel_tid, &blocked);
	if (err == -EEXIST)
		return 0;
	if (err < 0) {
		b->n_refused++;
		b->refusal = err;
		return 0;
	}
	/* It may have ended before it was added, and then nobody takes it out. */
	if (tgkill((pid_t)s->thread.pid, (pid_t)s->thread.tid, 0) < 0 && errno == ESRCH) {
		session_drop_blocked(b->session, s->thread.kernel_tid);
		return 0;
	}
	b->n++;
	thread_snapshot_sample(t, s, b->started, b->frames, &sample);
	return off_cpu_add(b->intervals, &sample);
}

/* It has run since its stack was taken, or is new. Has it blocked again before sampling began? */
static int look_again(const struct beginning *b, struct thread_snapshot *t, struct thread_stack *s)
{
	int err;

	if (s->state != THREAD_MOVES || (s->thread.flags & DP_THREAD_ON_CPU) ||
	    session_has_seen(b->session, s->thread.kernel_tid) ||
	    clock_now_ns() >= b->resting->until_ns)
		return 0;
	err = thread_snapshot_take_one(t, s);
	return err == -ENOMEM ? err : 0;
}

static int begin_threads(struct beginning *b, struct thread_snapshot *t)
{
	const struct profiler_options *o = b->resting->options;
	int err = thread_snapshot_check(t, o->target.n_tids == 0);

	if (err < 0)
		return err == -ENOMEM ? err : 0;
	for (size_t i = 0; err == 0 && i < t->n; i++) {
		err = look_again(b, t, &t->stacks[i]);
		if (err == 0 && is_wanted(o, t, &t->stacks[i]))
			err = begin_thread(b, t, &t->stacks[i]);
	}
	return err;
}

int resting_begin(struct resting *r, struct session *session, struct off_cpu_intervals *intervals,
		  uint64_t started)
{
	_cleanup_free_ struct frame *frames = calloc(DP_MAX_FRAMES, sizeof(*frames));
	struct beginning b = { .resting = r,
			       .session = session,
			       .intervals = intervals,
			       .started = started,
			       .frames = frames };
	uint64_t now = clock_now_ns();
	int err = frames ? 0 : -ENOMEM;

	r->until_ns = now + RESTING_BEGIN_NS;
	for (size_t i = 0; err == 0 && i < r->n; i++)
		err = begin_threads(&b, &r->snapshots[i]);
	if (b.n_refused > 0)
		log_warning("%zu threads that are blocked already are left out: %s", b.n_refused,
			    strerror(-b.refusal));
	log_debug("%zu threads are blocked already, found in %.1f ms", b.n,
		  (double)(clock_now_ns() - now) / 1e6);
	return err;
}

void resting_done(struct resting *r)
{
	while (r->n > 0)
		drop_last(r);
	free(r->snapshots);
	thread_reader_close(&r->reader);
	*r = (struct resting){ 0 };
}
