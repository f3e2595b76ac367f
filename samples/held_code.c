// SPDX-License-Identifier: Apache-2.0
#include "samples/held_code.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "report/report_queue.h"
#include "samples/off_cpu.h"
#include "samples/queue.h"
#include "samples/runtime_join.h"

/* Most threads wake up sooner, and their samples are reported then. */
#define BLOCKED_NS UINT64_C(200000000)

int held_code_read(struct runtime_join *join, struct report_queue *queue, const struct queued *q)
{
	const struct frame *frames;
	const struct snapshot *snapshot;
	size_t n;

	if (!q->sample || !sample_runtime(q->sample) || report_queue_is_full(queue))
		return 0;
	snapshot = snapshot_store_find(&join->table->snapshots, q->sample->sample.snapshot);
	n = runtime_join_code(join, snapshot, q->sample, &frames);
	return n > 0 ? report_queue_read_code(queue, frames, n) : 0;
}

#define IS_FULL 1

/* The native frames of a sample have no code to read. 0, IS_FULL, or a negative errno. */
static int read_frames(struct report_queue *queue, const struct sample *sample)
{
	_cleanup_free_ struct frame *frames = NULL;
	size_t n = 0;

	if (!sample_has_runtime_frames(sample))
		return 0;
	if (report_queue_is_full(queue))
		return IS_FULL;
	frames = calloc(sample->n_user, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; i < sample->n_user; i++)
		if (frame_is_interpreted(&sample->user[i]))
			frames[n++] = sample->user[i];
	return report_queue_read_code(queue, frames, n);
}

int held_code_read_kept(struct report_queue *queue, const struct sample *sample)
{
	int err = read_frames(queue, sample);

	return err == IS_FULL ? 0 : err;
}

static int read_blocked(void *arg, const struct sample *sample)
{
	return read_frames(arg, sample);
}

int held_code_read_blocked(struct report_queue *queue, struct off_cpu_intervals *intervals,
			   uint64_t now)
{
	int err = off_cpu_read(intervals, now - BLOCKED_NS, read_blocked, queue);

	return err == IS_FULL ? 0 : err;
}
