// SPDX-License-Identifier: Apache-2.0
#include "profiler/dump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "binaries/binary.h"
#include "kernel/permission.h"
#include "log/clock.h"
#include "log/log.h"
#include "process/process.h"
#include "process/target.h"
#include "profiler/fetch.h"
#include "profiler/outputs.h"
#include "profiler/record.h"
#include "profiler/running.h"
#include "profiler/stores.h"
#include "report/report.h"
#include "samples/unwinder.h"
#include "samples/thread_snapshot.h"
#include "samples/thread_reader.h"
#include "symbols/kallsyms.h"

/* How long to sample threads that never leave their CPU. */
#define RUNNING_NS UINT64_C(100000000)

/* One run. The members are set up in this order. */
struct dump {
	const struct record_options *options;
	char target[256];
	struct utsname machine;
	char kernel[256];
	struct outputs outputs;
	struct pool pool;
	struct stores stores; /* only valid if there is an unwinder */
	struct thread_reader reader;
	struct unwinder *unwinder;
	struct kallsyms *kallsyms;
	bool hidden;                       /* the kernel hides its addresses */
	struct thread_snapshot *snapshots; /* one per process */
	size_t n_snapshots, snapshots_size;
	struct totals totals;
	struct frame *frames; /* of the current stack */
	struct process_memory memory;
};

/* The tables are only for this process: the kernel does not walk. */
static int add_segment(void *arg, uint32_t index, uint8_t **ret)
{
	*ret = calloc(1, DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
	return *ret ? 0 : -ENOMEM;
}

static int publish(void *arg, pid_t pid, uint32_t cell)
{
	return 0;
}

static int open_reader(struct dump *d)
{
	const struct profiler_options *o = &d->options->profiler;
	bool kernel = o->sides != DP_SIDES_USER;
	int err;

	d->hidden = kernel && kallsyms_are_hidden("/proc/kallsyms");
	err = thread_reader_open(&d->reader, kernel, d->hidden, o->btf);
	if (err == 0 && d->hidden)
		permission_explain_kernel();
	return err;
}

static int make_tables(struct dump *d)
{
	const struct profiler_options *o = &d->options->profiler;
	int err;

	pool_init(&d->pool, add_segment, NULL);
	d->pool.max_segments = o->table_memory / DP_SEGMENT_SIZE;
	stores_init(&d->stores, o, &d->pool, publish, NULL);
	d->stores.table.inherit = false;
	err = unwinder_new(&d->pool, o->unwind, o->max_frames, &d->unwinder);
	return err < 0 ? err : target_add(&d->stores.table, &o->target);
}

static int open_report(struct dump *d)
{
	const struct profiler_options *o = &d->options->profiler;
	struct report_context context = {
		.command = d->options->command_line,
		.host = d->machine.nodename,
		.kernel = d->kernel,
		.started_ns = clock_now_ns(),
		.started_real_ns = clock_real_ns(),
		.target = d->target,
		.event = "dump",
		.symbols = o->symbols,
		.names = o->names,
	};

	uname(&d->machine);
	snprintf(d->kernel, sizeof(d->kernel), "%s %s %s", d->machine.sysname, d->machine.release,
		 d->machine.machine);
	if (o->symbols && o->sides != DP_SIDES_USER &&
	    kallsyms_new(o->names, "/proc/kallsyms", &d->kallsyms) == 0)
		context.kallsyms = d->kallsyms;
	d->frames = calloc(DP_MAX_FRAMES, sizeof(*d->frames));
	if (!d->frames)
		return -ENOMEM;
	return outputs_make_reports(&d->outputs, d->options->outputs, &context);
}

/* Finds the threads: all of a process, or those that were named. */
static int find_threads(struct dump *d, struct thread_snapshot *t)
{
	const struct profiler_options *o = &d->options->profiler;
	int err = 0;

	if (o->target.n_tids == 0)
		return thread_snapshot_find(t, 0);
	for (size_t i = 0; err == 0 && i < o->target.n_tids; i++)
		err = thread_snapshot_find(t, o->target.tids[i]);
	return err;
}

/*
 * Takes stacks again that contain code mapped after the mappings were read, because building tables
 * may take long. Uses the present mappings.
 */
static int take_unmapped_again(struct dump *d, const struct process *p, struct thread_snapshot *t)
{
	struct snapshot *snapshot, *before = (struct snapshot *)t->snapshot;
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
	process_table_resync(&d->stores.table, clock_now_ns());
	err = process_snapshot(&d->stores.table, p, TIME_NEVER - 1, &snapshot);
	if (err < 0)
		return err;
	snapshot_free(&d->stores.table.snapshots, before);
	return thread_snapshot_take(t, snapshot, p->thread, THREAD_SNAPSHOT_TRIES);
}

static int take_process(struct dump *d, const struct process *p)
{
	struct snapshot *snapshot;
	struct thread_snapshot *t;
	int err;

	if (array_reserve(d->snapshots, d->n_snapshots, d->snapshots_size) < 0)
		return -ENOMEM;
	err = process_snapshot(&d->stores.table, p, TIME_NEVER - 1, &snapshot);
	if (err < 0)
		return err;
	t = &d->snapshots[d->n_snapshots++];
	thread_snapshot_init(t, &d->reader, d->unwinder, &d->memory,
			     d->options->profiler.sides == DP_SIDES_KERNEL, p->pid);
	t->snapshot = snapshot;
	err = find_threads(d, t);
	if (err == 0)
		err = thread_snapshot_take(t, snapshot, p->thread, THREAD_SNAPSHOT_TRIES);
	if (err == 0)
		err = take_unmapped_again(d, p, t);
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

	for (size_t i = 0; i < d->n_snapshots; i++) {
		struct thread_snapshot *t = &d->snapshots[i];

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
	const struct profiler_options *o = &d->options->profiler;
	_cleanup_free_ pid_t *tids = NULL;
	struct running_options options = {
		.sides = d->hidden ? DP_SIDES_USER : o->sides,
		.duration_ns = RUNNING_NS,
		.btf = o->btf,
	};
	size_t n = 0;

	for (size_t i = 0; i < d->n_snapshots; i++)
		n += thread_snapshot_count(&d->snapshots[i], THREAD_MOVES);
	if (n == 0)
		return 0;
	tids = calloc(n, sizeof(*tids));
	if (!tids)
		return -ENOMEM;
	for (size_t i = 0; i < d->n_snapshots; i++)
		for (size_t j = 0; j < d->snapshots[i].n; j++)
			if (d->snapshots[i].stacks[j].state == THREAD_MOVES)
				tids[options.n_tids++] =
					(pid_t)d->snapshots[i].stacks[j].thread.tid;
	options.tids = tids;
	return running_sample(&options, on_running, d);
}

static int take_stacks(struct dump *d)
{
	struct process *p, *next;
	int err = 0;

	HASH_ITER(hh, d->stores.table.processes, p, next)
		if (err == 0)
			err = take_process(d, p);
	return err < 0 ? err : take_running(d);
}

static int report_stack(struct dump *d, const struct thread_snapshot *t,
			const struct thread_stack *s)
{
	struct sample sample;
	int err = 0;

	thread_snapshot_sample(t, s, clock_now_ns(), d->frames, &sample);
	d->totals.samples++;
	d->totals.events++;
	d->totals.outcomes[s->outcome]++;
	for (size_t i = 0; err == 0 && i < d->outputs.n; i++)
		err = report_add(d->outputs.reports[i], &sample, &d->totals);
	return err;
}

static int report_process(struct dump *d, const struct thread_snapshot *t)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < t->n; i++) {
		const struct thread_stack *s = &t->stacks[i];

		if (s->state == THREAD_STILL || s->state == THREAD_ON_CPU)
			err = report_stack(d, t, s);
	}
	return err;
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
				    d->options->profiler.sides == DP_SIDES_KERNEL ?
					    "ran, but never in the kernel when sampled" :
					    "moved at each attempt");
	}
}

static int run(struct dump *d)
{
	const struct profiler_options *o = &d->options->profiler;
	int err;

	stores_begin(&d->stores, o);
	target_describe(&o->target, d->target, sizeof(d->target));
	err = outputs_open(&d->outputs, d->options->outputs, d->options->n_outputs,
			   o->target.n_pids > 0 ? o->target.pids[0] : o->target.tids[0]);
	/* Before the tables, so that a missing permission is reported for what needs it. */
	if (err == 0)
		err = open_reader(d);
	if (err == 0)
		err = make_tables(d);
	if (err == 0)
		err = take_stacks(d);
	if (err == 0)
		err = open_report(d);
	if (err == 0)
		err = outputs_begin(&d->outputs);
	fetch_begin(o->names);
	for (size_t i = 0; err == 0 && i < d->n_snapshots; i++)
		err = report_process(d, &d->snapshots[i]);
	if (err == 0)
		err = outputs_finish(&d->outputs, &d->totals);
	fetch_end(o->names);
	for (size_t i = 0; err == 0 && i < d->n_snapshots; i++)
		tell_missing(d, &d->snapshots[i]);
	if (err == -ENOMEM || err == -ENOSPC)
		log_error("cannot take the stacks: %s", strerror(-err));
	return err;
}

static void dump_done(struct dump *d)
{
	outputs_done(&d->outputs);
	kallsyms_free(d->kallsyms);
	for (size_t i = 0; i < d->n_snapshots; i++) {
		snapshot_free(&d->stores.table.snapshots,
			      (struct snapshot *)d->snapshots[i].snapshot);
		thread_snapshot_done(&d->snapshots[i]);
	}
	free(d->snapshots);
	free(d->frames);
	if (d->unwinder) {
		unwinder_free(d->unwinder);
		stores_done(&d->stores);
		for (size_t i = 0; i < d->pool.n_segments; i++)
			free(d->pool.segments[i]);
		pool_done(&d->pool);
	}
	stores_end(&d->stores);
	thread_reader_close(&d->reader);
}

static int exit_code(const struct dump *d, int err)
{
	switch (err) {
	case 0:
		return d->totals.samples == 0 ? EXIT_CODE_NO_SAMPLES : EXIT_CODE_OK;
	case -EPERM:
	case -EACCES:
		return EXIT_CODE_NOT_PERMITTED;
	case -ESRCH:
		return EXIT_CODE_NO_PROCESS;
	}
	return EXIT_CODE_FAILED;
}

int dump_run(const struct record_options *options)
{
	struct dump d = { .options = options };
	int err = outputs_close(&d.outputs, run(&d));
	int code = exit_code(&d, err);

	if (code == EXIT_CODE_NO_SAMPLES)
		log_error("no stacks: there is no thread whose stack could be taken");
	dump_done(&d);
	return code;
}
