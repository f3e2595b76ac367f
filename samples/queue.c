// SPDX-License-Identifier: Apache-2.0
#include "samples/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "limits/limits.h"
#include "samples/unwinder.h"

void queued_done(struct queued *q)
{
	free(q->sample);
	stack_copy_free(q->copy);
}

void queue_done(struct queue *q)
{
	for (size_t i = q->first; i < q->end; i++)
		queued_done(&q->entries[i]);
	free(q->entries);
	*q = (struct queue){ 0 };
}

static int append(struct queue *q, const struct queued *entry)
{
	if (array_reserve(q->entries, q->end, q->size) < 0)
		return -ENOMEM;
	q->entries[q->end++] = *entry;
	q->n_bytes += entry->n_bytes;
	q->n_copies += entry->copy != NULL;
	return 0;
}

int queue_add_sample(struct queue *q, const struct named_sample *sample, size_t size,
		     struct stack_copy *stack)
{
	struct queued entry = {
		.time = sample->sample.time_ns,
		.n_bytes = sizeof(entry) + size + (stack ? stack->n_bytes : 0),
		.sample = malloc(size),
		.copy = stack,
	};
	int err;

	if (!entry.sample)
		return -ENOMEM;
	memcpy(entry.sample, sample, size);
	err = append(q, &entry);
	if (err < 0)
		free(entry.sample);
	return err;
}

int queue_add_off_cpu_end(struct queue *q, const struct dp_off_cpu_end *end)
{
	struct queued entry = { .time = end->end_ns, .n_bytes = sizeof(entry), .end = *end };

	return append(q, &entry);
}

static int compare(const void *a, const void *b)
{
	const struct queued *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return !x->sample - !y->sample;
}

/* Additions to a long queue are younger than nearly all of it, so the rest stays in place. */
void queue_sort(struct queue *q)
{
	const struct queued *oldest;
	size_t start = q->n_sorted;

	if (start == q->end)
		return;
	oldest = &q->entries[start];
	for (const struct queued *e = oldest + 1; e < &q->entries[q->end]; e++)
		if (compare(e, oldest) < 0)
			oldest = e;
	while (start > q->first && compare(&q->entries[start - 1], oldest) > 0)
		start--;
	qsort(&q->entries[start], q->end - start, sizeof(*q->entries), compare);
	q->n_sorted = q->end;
}

const struct queued *queue_first(const struct queue *q)
{
	return q->first < q->n_sorted ? &q->entries[q->first] : NULL;
}

/* Moves the rest to the start once it is no larger than the removed part. */
struct queued queue_take_first(struct queue *q)
{
	struct queued entry = q->entries[q->first++];
	size_t left = q->end - q->first;

	q->n_bytes -= entry.n_bytes;
	q->n_copies -= entry.copy != NULL;
	if (left > q->first)
		return entry;
	memcpy(q->entries, &q->entries[q->first], left * sizeof(*q->entries));
	q->n_sorted -= q->first;
	q->first = 0;
	q->end = left;
	return entry;
}

bool queue_is_full(const struct queue *q)
{
	return q->n_bytes >= QUEUE_MAX;
}
