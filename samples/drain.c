// SPDX-License-Identifier: Apache-2.0
#include "samples/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kernel/filter.h"
#include "kernel/session_blocked.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "process/process_list.h"
#include "process/process_snapshot.h"
#include "process/target.h"
#include "samples/crash_walk.h"
#include "samples/held_code.h"
#include "samples/losses.h"
#include "samples/own_frames.h"
#include "samples/resolver.h"

/* Replaced tables are kept this much longer: walks in progress have ended by then. */
#define KEEP_NS UINT64_C(1000000000)

/*
 * How long to report before the rings and the mappings are read again: samples can wait, code that
 * runs without tables cannot.
 */
#define REPORT_NS UINT64_C(5000000)

/* How often unused objects and losses are looked for, more often if tables wait for room, and ended processes. */
#define SWEEP_NS UINT64_C(200000000)
#define MAKE_ROOM_NS UINT64_C(50000000)
#define FORGET_NS UINT64_C(500000000)

/* Interval of the last wait for tables. */
#define WAIT_MS 10

void drain_done(struct drain *d)
{
	queue_done(&d->queue);
	held_done(&d->held);
	copies_done(&d->copies);
	off_cpu_done(&d->intervals);
	spans_done(&d->spans);
	live_memory_done(&d->memory);
	runtime_join_done(&d->runtime_join);
	unknown_pids_done(&d->unknown_pids);
	ticks_done(&d->ticks);
	free(d->frames);
}

/*
 * Stops reading a ring at a record as young as this reading (see ring_fn): later ones are younger
 * still, except for interrupted walks (TICKS_WALK_NS).
 */
static int go_on(const struct drain *d, uint64_t time)
{
	return time < d->read_ns ? 0 : -EAGAIN;
}

static int take_sample(struct drain *d, const struct named_sample *named, size_t size)
{
	const struct dp_sample *sample = &named->sample;
	_cleanup_(stack_copy_freep) struct stack_copy *copy =
		sample->n_chunks ? copies_take(&d->copies, sample->tid, sample->time_ns) : NULL;

	if (!sample_is_plausible(named))
		return -EBADMSG;
	if (sample->event == DP_EVENT_CPU)
		ticks_note(&d->ticks, sample->cpu, sample->time_ns);
	/* The first sample with a name that the kernel has not been told of yet. */
	if (!filter_matches_comm(d->filter, named->names.comm))
		return go_on(d, sample->time_ns);
	if (copy && !(sample->flags & DP_SAMPLE_LATE) && d->queue.n_copies >= VERIFY_MAX_WAITING)
		copy = stack_copy_free(copy);
	if (unknown_pids_note(&d->unknown_pids, d->table, sample) < 0 ||
	    queue_add_sample(&d->queue, named, size, copy) < 0)
		return -ENOMEM;
	steal_ptr(copy);
	return go_on(d, sample->time_ns);
}

/* A sample's chunks precede it on its ring. */
static int take_chunk(struct drain *d, const struct dp_chunk *chunk)
{
	return chunk_bytes(chunk) ? copies_add(&d->copies, chunk) : -EBADMSG;
}

static int take_off_cpu_end(struct drain *d, const struct dp_off_cpu_end *end)
{
	int err;

	if (end->part.size < sizeof(*end))
		return -EBADMSG;
	err = queue_add_off_cpu_end(&d->queue, end);
	return err < 0 ? err : go_on(d, end->end_ns);
}

static int take_span_end(struct drain *d, const struct dp_span_end *end)
{
	int err = spans_on_end(&d->spans, end);

	return err < 0 ? err : go_on(d, end->end_ns);
}

static int take_part(void *arg, unsigned int cpu, const void *part, size_t size)
{
	struct drain *d = arg;

	switch (((const struct dp_part *)part)->type) {
	case DP_RECORD_NAMES:
		return take_sample(arg, part, size);
	case DP_RECORD_CHUNK:
		return take_chunk(arg, part);
	case DP_RECORD_OFF_CPU_END:
		return take_off_cpu_end(arg, part);
	case DP_RECORD_SPAN_BEGIN:
		return spans_are_wanted(&d->spans) ? spans_on_begin(&d->spans, part) : 0;
	case DP_RECORD_SPAN_END:
		return spans_are_wanted(&d->spans) ? take_span_end(d, part) : 0;
	}
	return 0;
}

int drain_init(struct drain *d, struct session *session, struct sideband *sideband,
	       struct process_table *table, const struct filter *filter, struct unwinder *unwinder,
	       struct verify_queue *verify, struct report_queue *report_queue)
{
	*d = (struct drain){
		.session = session,
		.sideband = sideband,
		.table = table,
		.filter = filter,
		.unwinder = unwinder,
		.verify = verify,
		.totals.verified = verify ? verify_queue_results(verify) : NULL,
		.report_queue = report_queue,
	};
	return_check_init(&d->return_check, unwinder, table->fetchers);
	d->frames = calloc(DP_MAX_FRAMES, sizeof(*d->frames));
	if (!d->frames || runtime_join_init(&d->runtime_join, table) < 0)
		return -ENOMEM;
	return session_read_rings(session, take_part, d);
}

/* Counts and reports a complete sample. Takes over its verification. */
static int report_known(void *arg, const struct sample *sample)
{
	struct drain *d = arg;

	/* It takes long to read, and many programs are hardly ever in the kernel. */
	if (sample->n_kernel > 0) {
		kallsyms_read_ahead(d->unread);
		d->unread = NULL;
	}
	if (report_queue_is_full(d->report_queue)) {
		verification_drop(sample->verification);
		d->n_dropped++;
		d->dropped_ns += sample->weight * sample->value_ns;
		return 0;
	}
	totals_count(&d->totals, sample);
	d->totals.still_blocked += d->stopped_ns && sample->event == DP_EVENT_OFF_CPU &&
				   sample->time_ns + sample->value_ns >= d->stopped_ns;
	d->totals.frames_apart = d->runtime_join.n_apart;
	return report_queue_add(d->report_queue, sample, &d->totals);
}

/* Now, or when it is known whether it is in a call that took long enough. */
static int report_or_keep(struct drain *d, struct sample *sample, const struct span_list *calls)
{
	struct owned_sample *kept;
	int err;

	if (!spans_hold(&d->spans, calls))
		return report_known(d, sample);
	verification_drop(steal_ptr(sample->verification)); /* counted, but not kept */
	err = held_code_read_kept(d->report_queue, sample) ?:
							     owned_sample_new(sample, calls, &kept);
	return err < 0 ? err : spans_keep(&d->spans, kept);
}

/* Ends an interval. Without a sample, it began before the profiled program ran. */
static int report_off_cpu_end(struct drain *d, const struct dp_off_cpu_end *end)
{
	_cleanup_(owned_sample_freep) struct owned_sample *b = NULL;
	int err;

	if (end->time_ns == 0) {
		off_cpu_forget(&d->intervals, (pid_t)end->tid, end->end_ns);
		return 0;
	}
	b = off_cpu_take(&d->intervals, (pid_t)end->tid, end->time_ns);
	if (!b)
		return 0;
	b->sample.value_ns = end->end_ns - end->time_ns;
	if (!spans_hold(&d->spans, &b->calls))
		return report_known(d, &b->sample);
	err = held_code_read_kept(d->report_queue, &b->sample) ?:
		      spans_see(&d->spans, b->sample.tid, &b->calls, end->end_ns);
	return err < 0 ? err : spans_keep(&d->spans, steal_ptr(b));
}

/* p: see resolver_frames(). late: it was walked in user space. */
static int report_sample(struct drain *d, struct queued *q, const struct snapshot *snapshot,
			 const struct process *p, struct unwinder_result *walk, bool late)
{
	const struct dp_names *names = &q->sample->names;
	const struct dp_sample *raw = &q->sample->sample;
	const __u64 *kernel = q->sample->frames + raw->n_user;
	bool off_cpu = raw->event == DP_EVENT_OFF_CPU;
	size_t n_own = off_cpu ? off_cpu_own_frames(&d->intervals, kernel, raw->n_kernel) :
		       raw->event == DP_EVENT_TRACE ?
				 own_frames(d->intervals.kallsyms, kernel, raw->n_kernel) :
				 0;
	const struct resolver resolver = { &d->return_check, &d->table->binaries->tables,
					   process_table_find(d->table, (pid_t)raw->pid) };
	size_t n_user = resolver_frames(&resolver, snapshot, p, walk, raw, d->frames);
	const uint64_t number = value_labels_number(d->label_sources.values, q->sample);
	struct span_list calls = { 0 };
	_cleanup_(label_set_freep) struct label_set *labels = NULL;
	const struct snapshot *in_kernel = snapshot;
	int err;
	struct sample sample = {
		.time_ns = raw->time_ns,
		.event = (enum dp_event)raw->event,
		.state = off_cpu ? (enum dp_state)raw->state : 0,
		.weight = raw->weight,
		.value_ns = raw->event == DP_EVENT_CPU ? d->cpu_value_ns : number,
		.cpu = raw->cpu,
		.pid = (pid_t)raw->pid,
		.tid = (pid_t)raw->tid,
		.cgroup = names->cgroup,
		.outcome = walk->outcome,
		.fault_address = walk->outcome == DP_READ_FAULT ? walk->fault_address : 0,
		.user = d->frames,
		.n_user = n_user,
		.kernel = kernel + n_own,
		.n_kernel = raw->n_kernel - n_own,
		.kernel_error = raw->kernel_error,
		.late = late,
	};

	if (!snapshot || snapshot->id != raw->snapshot)
		in_kernel = snapshot_store_find(&d->table->snapshots, raw->snapshot);
	err = labels_new(&d->label_sources,
			 &(struct label_context){ q->sample, in_kernel, snapshot, &sample,
						  &d->label_sources, walk->cfas },
			 &labels);
	sample.labels = labels;
	value_labels_mark(d->label_sources.values, snapshot, &sample, d->frames);
	d->totals.unread += named_sample_lacks(q->sample);
	if (err == 0 && spans_are_wanted(&d->spans))
		err = spans_find(&d->spans, sample_spans(q->sample), snapshot, &sample, &calls);
	memcpy(sample.comm, names->comm, sizeof(names->comm));
	memcpy(sample.thread_name, names->thread_name, sizeof(names->thread_name));
	if (err == 0 && d->verify && (raw->flags & DP_SAMPLE_VERIFY))
		err = verify_queue_add(d->verify, &sample, snapshot, steal_ptr(q->copy),
				       &sample.verification);
	if (err < 0)
		return err;
	runtime_join_sample(&d->runtime_join, in_kernel, walk->runtime ?: sample_runtime(q->sample),
			    &sample);
	err = live_memory_add(&d->memory, q->sample, &sample);
	if (err == 0 && !off_cpu)
		return report_or_keep(d, &sample, &calls);
	verification_drop(steal_ptr(sample.verification)); /* counted, but not kept */
	return err < 0 ? err : off_cpu_add(&d->intervals, &sample, &calls);
}

/* Reports a sample whose walk would have taken too long in the kernel. */
static int report_long(struct drain *d, struct queued *q, struct process *p,
		       struct unwinder_result *walk)
{
	const struct snapshot *snapshot =
		snapshot_store_find(&d->table->snapshots, q->sample->sample.snapshot);
	bool late = p && snapshot &&
		    long_walks_finish(&d->long_walks, d->unwinder, d->table, p, q, snapshot, walk);

	return report_sample(d, q, snapshot, late ? NULL : p, walk, late);
}

/* Finishes a sample with the mappings of its process at its time. */
static int report_late(struct drain *d, struct queued *q, struct process *p,
		       const struct unwinder_result *walked)
{
	const struct dp_crash *crash = sample_crash(q->sample);
	struct unwinder_result walk = *walked;
	struct snapshot *snapshot = NULL;
	bool late = false;
	int err;

	d->hurried_ns = d->read_ns;
	if (p && process_look_back(d->table, p, q->time, &snapshot) == 0) {
		walk = crash ? crash_walk(d->unwinder, crash, q->copy, snapshot) :
			       unwinder_walk(d->unwinder, q->copy, snapshot);
		late = resolver_is_certain(d->table, p, q->sample, &walk, snapshot);
	}
	if (!late)
		walk = *walked;
	if (p && walked->outcome == DP_TABLES_CHANGED)
		process_table_miss_cookie(d->table, p, q->sample->sample.snapshot);
	err = report_sample(d, q, snapshot, NULL, &walk, late);
	snapshot_free(&d->table->snapshots, snapshot);
	return err;
}

static int report_queued_sample(struct drain *d, struct queued *q)
{
	const struct dp_sample *raw = &q->sample->sample;
	struct process *p = inherited_find(d->table, (pid_t)raw->pid, q->time);
	struct unwinder_result walk = {
		.outcome = raw->outcome > DP_WALKING && raw->outcome < DP_N_OUTCOMES ?
				   (enum dp_outcome)raw->outcome :
				   DP_TABLES_CHANGED,
		.frames = q->sample->frames,
		.n_frames = raw->n_user,
		.fault_address = raw->fault_address,
	};
	uint64_t wanted;
	int err;

	/* A launched command counts from its exec on. Later owners of its PID do not. */
	if (p && (q->time < p->sampled_from || (p->is_replaced && q->time >= p->exited)))
		return 0;
	if (q->copy && (raw->flags & DP_SAMPLE_LATE))
		return walk.outcome == DP_WALK_LIMIT ? report_long(d, q, p, &walk) :
						       report_late(d, q, p, &walk);
	err = report_sample(d, q, snapshot_store_find(&d->table->snapshots, raw->snapshot), p,
			    &walk, false);
	wanted = walk.outcome == DP_READ_FAULT ? walk.fault_address : sample_unread_type(q->sample);
	if (p && wanted && !p->is_replaced) {
		d->hurried_ns = d->read_ns;
		d->totals.pages_requested += page_request(&d->pages, d->table->fetchers, p->thread,
							  wanted, clock_now_ns());
	}
	return err;
}

static int report_queued(void *arg, struct queued *q)
{
	return q->sample ? report_queued_sample(arg, q) : report_off_cpu_end(arg, &q->end);
}

/* Reports the oldest in the queue, unless it has to wait for a table. */
static int report_first(struct drain *d)
{
	struct queued q = queue_take_first(&d->queue);
	struct process *p =
		q.sample ? process_table_find(d->table, (pid_t)q.sample->sample.pid) : NULL;
	int err;

	if (held_wants(&d->held, p, &q)) {
		err = held_code_read(&d->runtime_join, d->report_queue, &q) ?:
			      held_add(&d->held, p, &q);
		if (err == 0)
			return 0;
	} else {
		err = report_queued(d, &q);
	}
	queued_done(&q);
	return err;
}

static int release_held(struct drain *d, uint64_t before)
{
	return held_release(&d->held, d->table, before, report_queued, d);
}

/* Applies what workers have found out about binaries to the mappings, and publishes it. */
static int settle(struct drain *d)
{
	process_table_settle(d->table);
	return process_table_publish(d->table, clock_now_ns());
}

/* Sampling has ended; the held samples are all there is to wait for. */
static int wait_for_tables(struct drain *d)
{
	uint64_t began = clock_now_ns();
	int err = 0;

	while (err == 0 && d->held.n > 0 && last_wait_goes_on(&d->last_wait, began) &&
	       (d->table->binaries->n_jobs > 0 || d->table->n_awaited > 0)) {
		if (binary_store_wait(d->table->binaries, WAIT_MS) ||
		    process_lists_wait(d->table, d->sideband, WAIT_MS))
			err = settle(d);
		if (err == 0)
			err = release_held(d, 0);
	}
	return err < 0 ? err : release_held(d, UINT64_MAX);
}

int drain_processes(struct drain *d)
{
	int err = sideband_drain(d->sideband, d->table);

	if (err < 0 || !sideband_take_loss(d->sideband))
		return err;
	log_debug("records of mappings were lost: reading all mappings again");
	process_table_resync(d->table, clock_now_ns());
	err = target_look_again(d->table);
	return err < 0 ? err : process_table_publish(d->table, clock_now_ns());
}

/* All samples from before this time have been read and are in order. */
static uint64_t horizon(const struct drain *d)
{
	return d->read_ns == UINT64_MAX ? UINT64_MAX : d->read_ns - TICKS_WALK_NS;
}

/* All samples from before this time have been reported, or wait for what became of calls. */
static uint64_t settled(const struct drain *d)
{
	const struct queued *q = queue_first(&d->queue);
	uint64_t time = horizon(d);

	if (q && q->time < time)
		time = q->time;
	return held_oldest(&d->held) < time ? held_oldest(&d->held) : time;
}

/* Reports samples of which it is known in which calls they are; before a time, all. */
static int release_kept(struct drain *d, uint64_t before)
{
	int err = spans_release(&d->spans, settled(d), before, report_known, d);

	d->totals.outside = d->spans.n_outside;
	d->totals.in_unknown = d->spans.n_unknown;
	return err;
}

/* On return, everything from before d->read_ns has been queued. */
static int read_rings(struct drain *d, uint64_t now, bool final)
{
	const struct queued *q = queue_first(&d->queue);

	/* The rings fill up until some of the queue is reported. */
	if (!final && queue_is_full(&d->queue) && q && q->time < horizon(d))
		return 0;
	d->read_ns = final ? UINT64_MAX : now;
	return session_consume(d->session);
}

int drain_take(struct drain *d, const struct drain_boundary *boundary)
{
	if (d->boundary.time_ns)
		return -EBUSY;
	d->boundary = *boundary;
	return 0;
}

/* Everything from before this time has been reported. */
static int pass_boundary(struct drain *d, uint64_t time)
{
	const struct drain_boundary b = d->boundary;
	struct totals totals;
	int err;

	if (b.time_ns == 0 || time < b.time_ns)
		return 0;
	err = release_held(d, b.time_ns);
	if (err == 0)
		err = release_kept(d, b.time_ns);
	if (err < 0)
		return err;
	losses_count(d->session, d->n_dropped, d->dropped_ns, &d->totals);
	totals = d->totals;
	d->boundary.time_ns = 0;
	totals.duration_ns = b.duration_ns;
	return report_queue_take(d->report_queue, b.i, b.next, &totals, clock_now_ns(), b.taken,
				 b.arg);
}

/* Reports until no sample's order is certain, or for REPORT_NS. */
static int report_all(struct drain *d, bool final)
{
	uint64_t began = clock_now_ns();
	const struct queued *q;
	int err = 0;

	while (err == 0 && (q = queue_first(&d->queue)) && q->time < horizon(d) &&
	       (final || clock_now_ns() - began < REPORT_NS)) {
		err = pass_boundary(d, q->time);
		if (err == 0)
			err = report_first(d);
	}
	if (err == 0 && (!q || q->time >= horizon(d)))
		err = pass_boundary(d, horizon(d));
	return err;
}

/* Forgets what no sample that is still to come can need. */
static void sweep(struct drain *d, uint64_t now, bool final)
{
	const struct queued *q = queue_first(&d->queue);
	/* What is still in the rings is younger than their last reading. */
	uint64_t oldest = d->read_ns < now ? d->read_ns : now;

	oldest = q && q->time < oldest ? q->time : oldest;
	copies_forget(&d->copies, oldest - KEEP_NS);
	if (!final)
		spans_forget(&d->spans, settled(d));
	off_cpu_update(&d->intervals, oldest, now);
	oldest = held_oldest(&d->held) < oldest ? held_oldest(&d->held) : oldest;
	if (final || now >= d->forgot_ns + FORGET_NS) {
		process_table_forget(d->table, oldest - KEEP_NS);
		d->forgot_ns = now;
	}
	if (!final)
		binary_store_update(d->table->binaries, oldest);
	d->swept_ns = now;
}

static uint64_t sweep_ns(const struct drain *d)
{
	return d->table->binaries->tables.is_wanted ? MAKE_ROOM_NS : SWEEP_NS;
}

int drain_run(struct drain *d, bool final)
{
	uint64_t now = clock_now_ns();
	bool has_settled, sweeps = final || now >= d->swept_ns + sweep_ns(d);
	int err;

	process_lists_look(d->table);
	err = read_rings(d, now, final);
	/* After the rings: every mapping that a sample has met is recorded by now. */
	if (err == 0)
		err = drain_processes(d);
	has_settled = err == 0 && binary_store_collect(d->table->binaries);
	has_settled |= err == 0 && process_lists_apply(d->table);
	if (has_settled)
		err = settle(d);
	if (err == 0 && d->unknown_pids.n > 0) {
		d->hurried_ns = now;
		err = unknown_pids_take_in(&d->unknown_pids, d->table, now);
	}
	if (err < 0)
		return err;
	verify_queue_collect(d->verify);
	if (sweeps)
		losses_count(d->session, d->n_dropped, d->dropped_ns, &d->totals);

	queue_sort(&d->queue);
	if (has_settled || held_is_due(&d->held, now - HELD_NS))
		err = release_held(d, now - HELD_NS);
	if (err == 0)
		err = report_all(d, final);
	if (err == 0 && final)
		err = wait_for_tables(d);
	if (err == 0 && !final)
		err = release_kept(d, spans_limit(&d->spans, now));
	if (err == 0 && sweeps)
		err = held_code_read_blocked(d->report_queue, &d->intervals, now);
	if (sweeps)
		sweep(d, now, final);
	return err;
}

/* Reports a thread that the kernel knows to be blocked. */
static int report_still_blocked(void *arg, const struct dp_blocked *blocked, uint64_t time_ns)
{
	struct drain *d = arg;
	struct dp_off_cpu_end end = { .tid = blocked->tid,
				      .time_ns = blocked->since_ns,
				      .end_ns = blocked->since_ns + time_ns };

	if (blocked->lost != DP_LOST_NOT) {
		d->totals.lost++;
		d->totals.lost_by[blocked->lost == DP_LOST_BUSY ? LOST_NESTED : LOST_RINGS_FULL]++;
		d->totals.lost_ns += time_ns * blocked->weight;
		return 0;
	}
	return report_off_cpu_end(d, &end);
}

int drain_finish_off_cpu(struct drain *d, uint64_t stopped_ns)
{
	int err;

	d->stopped_ns = stopped_ns;
	err = session_each_blocked(d->session, stopped_ns, report_still_blocked, d);
	if (err == 0)
		err = release_kept(d, UINT64_MAX);
	spans_forget(&d->spans, UINT64_MAX);
	return err;
}

bool drain_is_behind(const struct drain *d)
{
	const struct queued *first = queue_first(&d->queue);

	return sideband_is_behind(d->sideband) || d->table->lists_left ||
	       (first && first->time + TICKS_WALK_NS + REPORT_NS < clock_now_ns());
}
