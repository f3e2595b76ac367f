// SPDX-License-Identifier: Apache-2.0
#include "profiler/dump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kernel/permission.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "process/process.h"
#include "process/target.h"
#include "profiler/fetch.h"
#include "profiler/file_limit.h"
#include "profiler/outputs.h"
#include "profiler/profiler.h"
#include "profiler/record.h"
#include "profiler/running.h"
#include "profiler/thread_set.h"
#include "report/report.h"
#include "samples/runtime_join.h"
#include "samples/thread_snapshot.h"
#include "samples/thread_tasks.h"

/* How long to sample threads that never leave their CPU. */
#define RUNNING_NS UINT64_C(100000000)

/* The event of a profiler that samples nothing. */
static const struct event_source at_once = {
	.name = "dump",
	.states = (1U << DP_N_STATES) - 1,
};

/* One run. The members are set up in this order. */
struct dump {
	const struct record_options *options;
	struct profiler_options profiled; /* the user's, but for what is sampled */
	struct outputs outputs;
	struct thread_set threads;
	struct profiler *profiler;
	struct totals totals;
	struct frame *frames; /* of the current stack */
	struct runtime_join runtime_join;
};

static int open_profiler(struct dump *d)
{
	struct profiler_options *o = &d->profiled;
	int err;

	*o = d->options->profiler;
	o->event = (struct event){ .source = &at_once };
	o->n_others = 0;
	o->target.inherit = false;
	/* Before the tables, so that a missing permission is reported for what needs it. */
	err = thread_set_open(&d->threads, o);
	if (err == 0 && d->threads.is_hidden)
		permission_explain_kernel();
	if (err == 0)
		err = profiler_open(o, &d->profiler);
	if (err == 0)
		err = profiler_attach(d->profiler, 0);
	if (err == 0)
		profiler_lend(d->profiler, &d->threads);
	d->threads.has_runtimes = o->native_frames != NATIVE_FRAMES_ONLY;
	return err;
}

static int open_report(struct dump *d)
{
	struct report_context context;

	profiler_describe(d->profiler, &context);
	context.command = d->options->command_line;
	context.event = at_once.name;
	d->frames = calloc(DP_MAX_FRAMES, sizeof(*d->frames));
	if (!d->frames || runtime_join_init(&d->runtime_join, d->threads.table) < 0)
		return -ENOMEM;
	d->runtime_join.keeps_native = d->profiled.native_frames == NATIVE_FRAMES_ALL;
	return outputs_make_reports(&d->outputs, d->options->outputs, &context);
}

/*
 * Takes stacks again that contain code mapped after the mappings were read, because building tables
 * may take long. Uses the present mappings.
 */
static int take_unmapped_again(struct dump *d, struct thread_snapshot *t)
{
	size_t n = 0;
	int err;

	for (size_t i = 0; i < t->n; i++) {
		struct thread_stack *s = &t->stacks[i];

		if (s->state != THREAD_STILL || s->outcome != DP_NO_MAPPING)
			continue;
		s->state = THREAD_MOVES;
		n++;
	}
	if (n == 0)
		return 0;
	profiler_look_again(d->profiler);
	err = thread_set_renew(&d->threads, t);
	if (err < 0)
		return err;
	return thread_snapshot_take(t, THREAD_SNAPSHOT_TRIES);
}

static int take_process(struct dump *d, struct process *p)
{
	struct thread_snapshot *t;
	int err = thread_set_add(&d->threads, p, &t);

	if (err < 0)
		return err;
	err = thread_set_find(&d->threads, t);
	if (err == 0)
		err = thread_snapshot_take(t, THREAD_SNAPSHOT_TRIES);
	if (err == 0)
		err = take_unmapped_again(d, t);
	if (err == -EPERM || err == -ENOSYS)
		permission_explain_memory(p->pid, err);
	return err;
}

/* Takes the stack of an on-CPU thread from a sample. The first sample will do. */
static int on_running(void *arg, const struct named_sample *named, const struct stack_copy *copy)
{
	const struct dp_sample *sample = &named->sample;
	struct dump *d = arg;
	size_t n_left = 0;
	int err = 0;

	for (size_t i = 0; i < d->threads.n; i++) {
		struct thread_snapshot *t = &d->threads.of[i];

		for (size_t j = 0; err == 0 && j < t->n; j++) {
			struct thread_stack *s = &t->stacks[j];

			if (s->state != THREAD_MOVES)
				continue;
			n_left++;
			if (s->thread.tid != sample->tid || (!copy && sample->n_user > 0))
				continue;
			s->state = THREAD_ON_CPU;
			s->n_user = 0; /* left from a walk of another state */
			s->fault_address = 0;
			s->outcome = (enum dp_outcome)sample->outcome;
			s->thread.cpu = sample->cpu;
			n_left--;
			if (copy)
				err = thread_snapshot_walk_copy(t, s, copy);
			if (err == 0)
				err = thread_snapshot_set_kernel(s, named->frames + sample->n_user,
								 sample->n_kernel,
								 sample->kernel_error);
		}
	}
	return err < 0 ? err : n_left == 0;
}

/* Samples the threads that were on a CPU at every attempt. */
static int take_running(struct dump *d)
{
	const struct profiler_options *o = &d->profiled;
	const struct thread_set *set = &d->threads;
	_cleanup_free_ pid_t *tids = NULL;
	struct running_options options = {
		.sides = set->is_hidden ? DP_SIDES_USER : o->sides,
		.duration_ns = RUNNING_NS,
		.btf = o->btf,
	};
	size_t n = 0;

	for (size_t i = 0; i < set->n; i++)
		n += thread_snapshot_count(&set->of[i], THREAD_MOVES);
	if (n == 0)
		return 0;
	tids = calloc(n, sizeof(*tids));
	if (!tids)
		return -ENOMEM;
	for (size_t i = 0; i < set->n; i++)
		for (size_t j = 0; j < set->of[i].n; j++)
			if (set->of[i].stacks[j].state == THREAD_MOVES)
				tids[options.n_tids++] = (pid_t)set->of[i].stacks[j].thread.tid;
	options.tids = tids;
	return running_sample(&options, on_running, d);
}

static int take_stacks(struct dump *d)
{
	struct process *p, *next;
	int err = 0;

	HASH_ITER(hh, d->threads.table->processes, p, next)
		if (err == 0)
			err = take_process(d, p);
	return err < 0 ? err : take_running(d);
}

/* After all stacks, which should be of one moment. */
static int take_tasks(struct dump *d)
{
	uint64_t until = clock_now_ns() + PYTHON_TASKS_RUN_NS;
	int err = 0;

	for (size_t i = 0; err == 0 && i < d->threads.n; i++)
		err = thread_tasks_read(&d->threads.of[i], until);
	return err;
}

/* Its memory is read at once: the process may not have run since. */
static void join_runtime(struct dump *d, const struct thread_snapshot *t,
			 const struct thread_stack *s, struct sample *sample)
{
	struct frame *frames = d->runtime_join.frames;

	runtime_join_sample(&d->runtime_join, t->snapshot, s->runtime, sample);
	for (size_t i = 0; sample->user == frames && i < sample->n_user; i++)
		if (frame_is_interpreted(&frames[i]))
			frame_locate(&frames[i], sample->time_ns);
}

static int add_sample(struct dump *d, const struct sample *sample)
{
	int err = 0;

	d->totals.samples++;
	d->totals.events++;
	d->totals.outcomes[sample->outcome]++;
	for (size_t i = 0; err == 0 && i < d->outputs.n; i++)
		err = report_add(d->outputs.reports[i], sample, &d->totals);
	return err;
}

static int report_stack(struct dump *d, const struct thread_snapshot *t,
			const struct thread_stack *s)
{
	struct sample sample;

	thread_snapshot_sample(t, s, clock_now_ns(), d->frames, &sample);
	join_runtime(d, t, s, &sample);
	return add_sample(d, &sample);
}

static int report_task(struct dump *d, const struct thread_snapshot *t,
		       const struct thread_stack *s, size_t number)
{
	_cleanup_(label_set_freep) struct label_set *labels = NULL;
	struct sample sample;

	thread_snapshot_describe(s, clock_now_ns(), d->frames, &sample);
	sample.n_user =
		task_stacks_frames(&s->tasks, number, d->threads.table, t->snapshot, d->frames);
	for (size_t i = 0; i < sample.n_user; i++)
		frame_locate(&d->frames[i], sample.time_ns);
	if (task_stacks_label(&s->tasks, number, d->frames, sample.n_user, &labels) < 0)
		return -ENOMEM;
	sample.labels = labels;
	sample.is_task = true;
	sample.outcome = s->tasks.stacks[number].is_cut ? DP_DEPTH_LIMIT : DP_COMPLETE;
	return add_sample(d, &sample);
}

static int report_process(struct dump *d, const struct thread_snapshot *t)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < t->n; i++) {
		const struct thread_stack *s = &t->stacks[i];

		if (s->state == THREAD_STILL || s->state == THREAD_ON_CPU)
			err = report_stack(d, t, s);
		for (size_t j = 0; err == 0 && j < s->tasks.n; j++)
			err = report_task(d, t, s, j);
	}
	return err;
}

static void tell_missing_tasks(const struct thread_snapshot *t)
{
	static const char *const why[TASKS_N_RESULTS] = {
		[TASKS_NO_PYTHON] = "no tasks: it runs no known CPython",
		[TASKS_OLD_PYTHON] = "no tasks: they need CPython 3.14 or later",
		[TASKS_NO_ASYNCIO] = "no tasks: asyncio is not loaded, or does not publish them",
		[TASKS_NO_MORE] =
			"of its tasks, only a part is shown: there are too many, or they took too long",
		[TASKS_UNKNOWN] = "no tasks: its CPython publishes them in an unknown layout",
		[TASKS_FAR] = "no tasks: CPython has too many threads to find it",
		[TASKS_RAN] = "no tasks: it ran at each attempt",
	};

	if (why[t->tasks_result])
		log_warning("process %d: %s", t->pid, why[t->tasks_result]);
	for (size_t i = 0; i < t->n; i++) {
		const struct task_stacks *tasks = &t->stacks[i].tasks;
		const struct dp_thread *thread = &t->stacks[i].thread;

		if (why[tasks->result])
			log_warning("thread %u (%.16s): %s", thread->tid, thread->thread_name,
				    why[tasks->result]);
		else if (tasks->result == TASKS_PART)
			log_warning("thread %u (%.16s): of its tasks, only a part is shown%s%s",
				    thread->tid, thread->thread_name, tasks->err < 0 ? ": " : "",
				    tasks->err < 0 ? strerror(-tasks->err) : "");
	}
}

/* Lists threads without a stack and the reasons; last, because the list may fill a screen. */
static void tell_missing(const struct dump *d, const struct thread_snapshot *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct thread_stack *s = &t->stacks[i];

		if (s->state == THREAD_GONE)
			log_info("thread %u (%.16s) ended meanwhile", s->thread.tid,
				 s->thread.thread_name);
		if (s->state == THREAD_MOVES)
			log_warning("no stack of thread %u (%.16s): it %s", s->thread.tid,
				    s->thread.thread_name,
				    d->profiled.sides == DP_SIDES_KERNEL ?
					    "ran, but never in the kernel when sampled" :
					    "moved at each attempt");
	}
}

static int take_and_report(struct dump *d)
{
	struct names *names = d->profiled.names;
	int err = take_stacks(d);

	if (err == 0 && d->options->tasks && d->profiled.sides != DP_SIDES_KERNEL)
		err = take_tasks(d);
	if (err == 0)
		err = open_report(d);
	if (err == 0)
		err = outputs_begin(&d->outputs);
	fetch_begin(names);
	for (size_t i = 0; err == 0 && i < d->threads.n; i++)
		err = report_process(d, &d->threads.of[i]);
	if (err == 0)
		err = outputs_finish(&d->outputs, &d->totals);
	fetch_end(names);
	for (size_t i = 0; err == 0 && i < d->threads.n; i++)
		tell_missing(d, &d->threads.of[i]);
	for (size_t i = 0; err == 0 && i < d->threads.n; i++)
		tell_missing_tasks(&d->threads.of[i]);
	if (err == -ENOMEM || err == -ENOSPC)
		log_error("cannot take the stacks: %s", strerror(-err));
	return err;
}

static int run(struct dump *d)
{
	const struct record_options *o = d->options;
	int err = outputs_open(&d->outputs, o->outputs, o->n_outputs,
			       target_pid(&o->profiler.target, 0), -1);

	file_limit_raise();
	if (err == 0)
		err = open_profiler(d);
	return err < 0 ? err : take_and_report(d);
}

static void dump_done(struct dump *d)
{
	outputs_done(&d->outputs);
	free(d->frames);
	runtime_join_done(&d->runtime_join);
	thread_set_close(&d->threads);
	profiler_free(d->profiler);
}

int dump_run(const struct record_options *options)
{
	struct dump d = { .options = options };
	int err = outputs_close(&d.outputs, run(&d));
	int code = err == 0 && d.totals.samples == 0 ? EXIT_CODE_NO_SAMPLES : exit_code_of(err);

	if (code == EXIT_CODE_NO_SAMPLES)
		log_error("no stacks: there is no thread whose stack could be taken");
	dump_done(&d);
	return code;
}
