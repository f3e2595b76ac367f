// SPDX-License-Identifier: Apache-2.0
#include "samples/held_code.h"

#include "report/report_queue.h"
#include "samples/queue.h"
#include "samples/runtime_join.h"

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
