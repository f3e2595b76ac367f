// SPDX-License-Identifier: Apache-2.0
#include "profiler/resting.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/filter.h"
#include "kernel/proc_stat.h"
#include "kernel/session.h"
#include "kernel/session_blocked.h"
#include "log/clock.h"
#include "log/log.h"
#include "samples/label_values.h"

/* p: NULL: the kernel's threads, which have no mappings. */
static int take_threads(struct resting *r, struct process *p)
{
	struct thread_snapshot *t;
	int err = thread_set_add(&r->set, p, &t);

	if (err < 0)
		return err;
	t->max_threads = r->limits->max_threads - r->n_threads;
	t->until_ns = r->until_ns;
	err = thread_set_find(&r->set, t);
	/* Who moves now will be seen to block, or is looked at again by then. */
	if (err == 0)
		err = thread_snapshot_take(t, 0);
	t->until_ns = TIME_NEVER;
	r->n_threads += t->n;
	return err;
}

static void drop_last(struct resting *r)
{
	r->n_threads -= r->set.of[r->set.n - 1].n;
	thread_set_drop_last(&r->set);
}

/* One that cannot be read, which may have ended, keeps nothing from the others. */
static int try_process(struct resting *r, struct process *p)
{
	size_t n = r->set.n;
	int err;

	err = clock_now_ns() < r->until_ns ? take_threads(r, p) : -ETIME;
	if (err == 0 || err == -ENOMEM)
		return err;
	if (r->set.n > n)
		drop_last(r);
	if (err == -E2BIG)
		r->n_too_many++;
	else if (err == -ETIME)
		r->n_late++;
	else if (err == -ESRCH || err == -ENOENT)
		log_debug("PID %d has ended before its blocked threads were found", p ? p->pid : 0);
	else if (p)
		log_warning("threads of PID %d that were already blocked are left out: %s", p->pid,
			    strerror(-err));
	else
		log_warning("the kernel's threads that were already blocked are left out: %s",
			    strerror(-err));
	return 0;
}

static void warn_of_limits(struct resting *r)
{
	if (r->n_too_many > 0)
		log_warning(
			"threads of %zu processes that were already blocked are left out: there "
			"are more than %zu",
			r->n_too_many, r->limits->max_threads);
	if (r->n_late > 0)
		log_warning("threads of %zu processes that were already blocked are left out: it "
			    "took too long",
			    r->n_late);
	r->n_too_many = r->n_late = 0;
}

/* Processes that were not looked at yet. */
static int take_new(struct resting *r)
{
	const struct profiler_options *o = r->options;
	struct process *p, *next;
	int err = 0;

	HASH_ITER(hh, r->set.table->processes, p, next) {
		if (err < 0 || p->blocked_asked || p->is_replaced || p->pid == getpid() ||
		    !filter_matches_process(o->target.filter, p->pid))
			continue;
		p->blocked_asked = true;
		err = try_process(r, p);
	}
	return err;
}

static int take_all(struct resting *r)
{
	const struct profiler_options *o = r->options;
	int err = 0;

	if (o->target.all && o->sides != DP_SIDES_USER)
		err = try_process(r, NULL);
	return err < 0 ? err : take_new(r);
}

int resting_take(struct resting *ret, const struct profiler_options *o, struct process_table *table,
		 struct unwinder *unwinder, const struct resting_limits *limits)
{
	uint64_t now = clock_now_ns();
	int err;

	*ret = (struct resting){ .options = o,
				 .limits = limits,
				 .until_ns = now + limits->take_ns };
	err = thread_set_open(&ret->set, o);
	ret->set.table = table;
	ret->set.unwinder = unwinder;
	if (err == 0)
		err = take_all(ret);
	if (err < 0) {
		log_debug("threads that were already blocked are left out: %s", strerror(-err));
		resting_done(ret);
		return err;
	}
	warn_of_limits(ret);
	log_debug("looked at %zu threads of %zu processes in %.1f ms", ret->n_threads, ret->set.n,
		  (double)(clock_now_ns() - now) / 1e6);
	return 0;
}

int resting_take_started(struct resting *r)
{
	int err = take_new(r);

	warn_of_limits(r);
	return err;
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

/* A process's first thread remains as a zombie until its parent has asked for it. */
static bool has_ended(const struct dp_thread *thread)
{
	struct proc_stat stat;

	if (thread->tid == thread->pid)
		return proc_stat_read((pid_t)thread->tid, &stat) < 0 || stat.exited;
	return tgkill((pid_t)thread->pid, (pid_t)thread->tid, 0) < 0 && errno == ESRCH;
}

static int begin_thread(struct beginning *b, const struct thread_snapshot *t,
			const struct thread_stack *s)
{
	const struct dp_blocked blocked = { .since_ns = b->started,
					    .ran_ns = s->thread.ran_ns,
					    .tid = s->thread.tid,
					    .weight = 1 };
	const struct value_labels *value_labels = b->resting->labels;
	_cleanup_(label_set_freep) struct label_set *labels = NULL;
	struct span_list calls = { 0 };
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
	if (has_ended(&s->thread)) {
		session_drop_blocked(b->session, s->thread.kernel_tid);
		return 0;
	}
	b->n++;
	thread_snapshot_sample(t, s, b->started, b->frames, &sample);
	err = value_labels_of_resting(value_labels, t->snapshot, &sample, &labels);
	sample.labels = labels;
	if (value_labels && value_labels->are_of_spans)
		span_list_take(value_labels->code, NULL, t->snapshot, &sample, &calls);
	return err < 0 ? err : off_cpu_add(b->intervals, &sample, &calls);
}

/*
 * Its stack contains code that was mapped after the mappings were read, or it has run since it was
 * taken, or is new. Has it blocked again before sampling began? With a rate limit, nothing tells: it
 * may have blocked since, and not have been chosen.
 */
static bool is_worth_a_look(const struct beginning *b, const struct thread_stack *s)
{
	if (b->resting->options->max_rate > 0 || clock_now_ns() >= b->resting->until_ns)
		return false;
	if (s->state == THREAD_STILL)
		return s->outcome == DP_NO_MAPPING;
	return s->state == THREAD_MOVES && !(s->thread.flags & DP_THREAD_ON_CPU) &&
	       !session_has_seen(b->session, s->thread.kernel_tid);
}

static bool is_settled(const struct thread_stack *s)
{
	return s->state == THREAD_STILL && s->outcome != DP_NO_MAPPING;
}

static int begin_settled(struct beginning *b, const struct thread_snapshot *t)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < t->n; i++)
		if (is_settled(&t->stacks[i]) && is_wanted(b->resting->options, t, &t->stacks[i]))
			err = begin_thread(b, t, &t->stacks[i]);
	return err;
}

/* The others; they come last, because the stacks of the settled belong to the first snapshot. */
static int begin_unsettled(struct beginning *b, struct thread_snapshot *t)
{
	bool is_renewed = false;
	int err = 0;

	for (size_t i = 0; err == 0 && i < t->n; i++) {
		struct thread_stack *s = &t->stacks[i];

		if (is_settled(s))
			continue;
		if (is_worth_a_look(b, s)) {
			s->state = THREAD_MOVES;
			/* Meanwhile, it may have executed another program. */
			if (!is_renewed)
				err = thread_set_renew(&b->resting->set, t);
			if (err == 0)
				err = thread_snapshot_take_one(t, s);
			is_renewed = true;
		}
		if (err == 0 && is_wanted(b->resting->options, t, s))
			err = begin_thread(b, t, s);
	}
	return err;
}

/* What cannot be read, or has ended, keeps nothing from the others. */
static int begin_threads(struct beginning *b, struct thread_snapshot *t)
{
	int err = thread_snapshot_check(t, b->resting->options->target.n_tids == 0);

	if (err == 0)
		err = begin_settled(b, t);
	if (err == 0)
		err = begin_unsettled(b, t);
	return err == -ENOMEM ? err : 0;
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

	r->until_ns = now + r->limits->begin_ns;
	/* With a rate limit, as above. */
	if (err == 0 && r->options->max_rate == 0)
		err = resting_take_started(r);
	for (size_t i = 0; err == 0 && i < r->set.n; i++)
		err = begin_threads(&b, &r->set.of[i]);
	if (b.n_refused > 0)
		log_warning("%zu threads that were already blocked are left out: %s", b.n_refused,
			    strerror(-b.refusal));
	log_debug("%zu threads are blocked already, found in %.1f ms", b.n,
		  (double)(clock_now_ns() - now) / 1e6);
	return err;
}

void resting_done(struct resting *r)
{
	thread_set_close(&r->set);
	*r = (struct resting){ 0 };
}
