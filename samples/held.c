// SPDX-License-Identifier: Apache-2.0
#include "samples/held.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "limits/limits.h"

void held_done(struct held *h)
{
	for (size_t i = 0; i < h->n; i++)
		queued_done(&h->entries[i]);
	free(h->entries);
	*h = (struct held){ 0 };
}

/* True if one of the first n is the sample with which this interval began. */
static bool has_interval(const struct held *h, size_t n, const struct dp_off_cpu_end *end)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (h->entries[mid].time < end->time_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < n && h->entries[lo].time == end->time_ns; lo++)
		if (h->entries[lo].sample && h->entries[lo].sample->sample.tid == end->tid)
			return true;
	return false;
}

/* True if the end of an off-CPU interval, or of a thread, has to follow one of the first n. */
static bool end_waits(const struct held *h, size_t n, const struct dp_off_cpu_end *end)
{
	return end->time_ns == 0 ? n > 0 : has_interval(h, n, end);
}

/* True if it has to follow one of the first n, or to wait itself. */
static bool waits(const struct held *h, size_t n, const struct process *p, const struct queued *q)
{
	if (!q->sample)
		return end_waits(h, n, &q->end);
	if (!p || p->n_held > 0)
		return p != NULL;
	return q->copy && (q->sample->sample.flags & DP_SAMPLE_LATE) &&
	       process_is_pending(p, q->time);
}

bool held_wants(const struct held *h, const struct process *p, const struct queued *q)
{
	return waits(h, h->n, p, q);
}

int held_add(struct held *h, struct process *p, const struct queued *q)
{
	if (array_reserve(h->entries, h->n, h->size) < 0)
		return -ENOMEM;
	h->entries[h->n++] = *q;
	h->n_bytes += q->n_bytes;
	if (q->sample)
		p->n_held++;
	return 0;
}

uint64_t held_oldest(const struct held *h)
{
	return h->n > 0 ? h->entries[0].time : UINT64_MAX;
}

bool held_is_due(const struct held *h, uint64_t before)
{
	return held_oldest(h) < before || h->n_bytes > HELD_MAX;
}

static struct process *find_process(const struct process_table *table, const struct queued *q)
{
	return q->sample ? process_table_find(table, (pid_t)q->sample->sample.pid) : NULL;
}

/* Processes' counts are set again from what is kept: the first one that waits holds the others. */
static void forget_counts(const struct held *h, const struct process_table *table)
{
	for (size_t i = 0; i < h->n; i++) {
		struct process *p = find_process(table, &h->entries[i]);

		if (p)
			p->n_held = 0;
	}
}

int held_release(struct held *h, const struct process_table *table, uint64_t before,
		 int (*report)(void *arg, struct queued *queued), void *arg)
{
	size_t n_kept = 0;
	int err = 0;

	forget_counts(h, table);
	for (size_t i = 0; i < h->n; i++) {
		struct queued q = h->entries[i];
		struct process *p = find_process(table, &q);
		bool has_time = q.time >= before && h->n_bytes <= HELD_MAX;

		if (err < 0 || (has_time && waits(h, n_kept, p, &q))) {
			if (p)
				p->n_held++;
			h->entries[n_kept++] = q;
			continue;
		}
		h->n_bytes -= q.n_bytes;
		err = report(arg, &q);
		queued_done(&q);
	}
	h->n = n_kept;
	return err;
}
