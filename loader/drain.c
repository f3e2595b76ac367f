// SPDX-License-Identifier: Apache-2.0
#include "drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "clock.h"
#include "log.h"

/*
 * What was replaced is kept until every sample taken before that is reported,
 * and for this long: a walk that had begun is over by then.
 */
#define KEEP_NS UINT64_C(1000000000)

/*
 * How long to report before the rings and the mappings are looked at again:
 * samples wait patiently, code that runs without tables does not.
 */
#define REPORT_NS UINT64_C(5000000)

/*
 * A sample has the time at which its walk began, and is in its ring when the
 * walk has ended. What is younger than this waits for such samples.
 */
#define WALK_NS UINT64_C(10000000)

struct queued {
	uint64_t time;
	struct dp_sample *sample; /* owned */
	struct stack_copy *copy;  /* owned; NULL: the kernel has walked it */
};

static void queued_done(struct queued *q)
{
	free(q->sample);
	stack_copy_free(q->copy);
}

void drain_done(struct drain *d)
{
	for (size_t i = 0; i < d->n_queue; i++)
		queued_done(&d->queue[i]);
	for (size_t i = 0; i < d->n_copies; i++)
		stack_copy_free(d->copies[i]);
	free(d->queue);
	free(d->copies);
	free(d->frames);
}

/* Where the copy of the stack of a sample is, or d->n_copies. */
static size_t find_copy(const struct drain *d, uint32_t tid, uint64_t time)
{
	size_t i = 0;

	while (i < d->n_copies && (d->copies[i]->tid != tid || d->copies[i]->time_ns != time))
		i++;
	return i;
}

static void remove_copy(struct drain *d, size_t i)
{
	d->copies[i] = d->copies[--d->n_copies];
}

static int queue_sample(struct drain *d, const struct dp_sample *sample, size_t size)
{
	struct queued *q;
	size_t i;

	if (size < sizeof(*sample) ||
	    size < sizeof(*sample) + (sample->n_user + (size_t)sample->n_kernel) * sizeof(__u64))
		return -EBADMSG;
	if (array_reserve(d->queue, d->n_queue, d->queue_size) < 0)
		return -ENOMEM;
	q = &d->queue[d->n_queue];
	*q = (struct queued){ .time = sample->time_ns, .sample = malloc(size) };
	if (!q->sample)
		return -ENOMEM;
	memcpy(q->sample, sample, size);
	d->n_queue++;

	i = sample->n_chunks ? find_copy(d, sample->tid, sample->time_ns) : d->n_copies;
	if (i < d->n_copies) {
		q->copy = d->copies[i];
		remove_copy(d, i);
	}
	return 0;
}

/* A sample's chunks come before it on its ring. */
static int queue_chunk(struct drain *d, const struct dp_chunk *chunk, size_t size)
{
	size_t i;
	int err;

	if (size < sizeof(*chunk) || size < sizeof(*chunk) + chunk->size)
		return -EBADMSG;
	i = find_copy(d, chunk->tid, chunk->time_ns);
	if (i < d->n_copies)
		return stack_copy_add(&d->copies[i], chunk);
	if (array_reserve(d->copies, d->n_copies, d->copies_size) < 0)
		return -ENOMEM;
	d->copies[i] = NULL;
	err = stack_copy_add(&d->copies[i], chunk);
	if (d->copies[i])
		d->n_copies++;
	return err;
}

static int queue_record(void *arg, unsigned int cpu, const void *record, size_t size)
{
	struct drain *d = arg;
	uint32_t kind;

	if (size < sizeof(kind))
		return -EBADMSG;
	memcpy(&kind, record, sizeof(kind));
	switch (kind) {
	case DP_RECORD_SAMPLE:
		return queue_sample(d, record, size);
	case DP_RECORD_CHUNK:
		return queue_chunk(d, record, size);
	}
	return -EBADMSG;
}

int drain_init(struct drain *d, struct session *session, struct sideband *sideband,
	       struct process_table *table, struct rescue *rescue, struct report *report)
{
	*d = (struct drain){
		.session = session,
		.sideband = sideband,
		.table = table,
		.rescue = rescue,
		.report = report,
	};
	d->frames = calloc(DP_MAX_FRAMES, sizeof(*d->frames));
	if (!d->frames)
		return -ENOMEM;
	return session_read_rings(session, queue_record, d);
}

static int queued_compare(const void *a, const void *b)
{
	const struct queued *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/*
 * Tell the frames apart by binary, with the mappings they were found in, whose
 * tables have been used at that time.
 */
static size_t resolve_frames(struct drain *d, const struct space *space,
			     const struct rescue_result *walk, uint64_t time)
{
	const __u64 *frames = walk->frames;
	size_t n = walk->n_frames;
	struct table *last = NULL;

	for (size_t i = 0; i < n && i < DP_MAX_FRAMES; i++) {
		struct frame *f = &d->frames[i];
		const struct mapping *m = NULL;
		bool exact;

		last = NULL;
		*f = (struct frame){ .address = DP_FRAME_ADDRESS(frames[i]),
				     .method = (enum dp_method)DP_FRAME_METHOD(frames[i]) };
		exact = f->method == DP_METHOD_LEAF || f->method == DP_METHOD_SIGNAL;
		if (space)
			m = space_find(space, f->address - !exact);
		if (!m || !m->binary)
			continue;
		f->module = &m->binary->module;
		f->offset = f->address - m->bias;
		last = m->binary->table;
		table_use(last, time);
	}
	/* It was the last frame that could not be left. */
	if (walk->outcome == DP_TABLE_EVICTED && last)
		table_want(&d->table->binaries->tables, last, time);
	return n;
}

static int report_sample(struct drain *d, const struct dp_sample *raw, const struct space *space,
			 const struct rescue_result *walk, bool late)
{
	const __u64 *kernel = (const __u64 *)(raw + 1) + raw->n_user;
	struct sample sample = {
		.time_ns = raw->time_ns,
		.cpu = raw->cpu,
		.pid = (pid_t)raw->pid,
		.tid = (pid_t)raw->tid,
		.outcome = walk->outcome,
		.user = d->frames,
		.n_user = resolve_frames(d, space, walk, raw->time_ns),
		.kernel = kernel,
		.n_kernel = raw->n_kernel,
		.kernel_error = raw->kernel_error,
		.late = late,
	};

	memcpy(sample.comm, raw->comm, sizeof(raw->comm));
	memcpy(sample.thread_name, raw->thread_name, sizeof(raw->thread_name));
	d->totals.samples++;
	d->totals.finished_late += late;
	d->totals.outcomes[sample.outcome]++;
	return report_add(d->report, &sample, &d->totals);
}

/* Finish a sample with the mappings that its process had at its time. */
static int report_late(struct drain *d, const struct queued *q, struct process *p,
		       const struct rescue_result *walked)
{
	struct rescue_result walk = *walked;
	struct space *space = NULL;
	int err;

	if (p && process_snapshot(d->table, p, q->time, &space) == 0)
		walk = rescue_walk(d->rescue, q->copy, space->id, space->cell);
	if (p && walked->outcome == DP_TABLES_CHANGED && p->space &&
	    p->space->id == q->sample->space)
		process_table_check_marks(d->table, p);
	err = report_sample(d, q->sample, space, &walk, space != NULL);
	space_free(&d->table->spaces, space);
	return err;
}

static int report_queued(struct drain *d, const struct queued *q)
{
	const struct dp_sample *raw = q->sample;
	struct process *p = process_table_find(d->table, (pid_t)raw->pid);
	struct rescue_result walk = {
		.outcome = raw->outcome > DP_WALKING && raw->outcome < DP_N_OUTCOMES ?
				   (enum dp_outcome)raw->outcome :
				   DP_TABLES_CHANGED,
		.frames = (const __u64 *)(raw + 1),
		.n_frames = raw->n_user,
	};

	/* A launched command counts from its exec on. */
	if (p && q->time < p->sampled_from)
		return 0;
	if (q->copy)
		return report_late(d, q, p, &walk);
	return report_sample(d, raw, space_store_find(&d->table->spaces, raw->space), &walk, false);
}

/* Stacks whose samples were lost because the ring was full. */
static void forget_copies(struct drain *d, uint64_t before)
{
	for (size_t i = d->n_copies; i-- > 0;) {
		if (d->copies[i]->time_ns >= before)
			continue;
		stack_copy_free(d->copies[i]);
		remove_copy(d, i);
	}
}

int drain_run(struct drain *d, bool final)
{
	uint64_t now = clock_now_ns();
	/* All samples from before are in their rings: what is older is complete, and in order. */
	uint64_t horizon = final ? UINT64_MAX : now - WALK_NS;
	uint64_t oldest = now;
	size_t n = 0;
	int err;

	err = session_consume(d->session);
	/* After the rings: every mapping that a sample has met is now recorded. */
	if (err == 0)
		err = sideband_drain(d->sideband, d->table);
	if (err < 0)
		return err;
	d->totals.lost = session_losses(d->session);

	if (d->n_queue > 0)
		qsort(d->queue, d->n_queue, sizeof(*d->queue), queued_compare);
	while (err == 0 && n < d->n_queue && d->queue[n].time < horizon &&
	       (final || clock_now_ns() - now < REPORT_NS))
		err = report_queued(d, &d->queue[n++]);
	for (size_t i = 0; i < n; i++)
		queued_done(&d->queue[i]);
	d->n_queue -= n;
	if (n > 0)
		memmove(d->queue, d->queue + n, d->n_queue * sizeof(*d->queue));
	if (d->n_queue > 0 && d->queue[0].time < oldest)
		oldest = d->queue[0].time;
	process_table_forget(d->table, oldest - KEEP_NS);
	if (!final)
		binary_store_update(d->table->binaries, oldest);
	forget_copies(d, oldest - KEEP_NS);
	return err;
}

bool drain_is_behind(const struct drain *d)
{
	return d->n_queue > 0 && d->queue[0].time + WALK_NS + REPORT_NS < clock_now_ns();
}
