/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_QUEUE_H
#define DP_SAMPLES_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/ring_record.h"

struct stack_copy;

/*
 * What was read from the rings and is not reported yet, ordered by time. The rings of
 * several CPUs are read one after the other, so that much arrives nearly in order.
 */
struct queue {
	struct queued *entries; /* those in front of `first` are gone */
	size_t first, end, size;
	size_t n_sorted; /* from the start; the others are in the order in which they were added */
	size_t n_bytes;  /* that those that wait take up */
	size_t n_copies; /* of these, with a copy of their stack */
};

struct queued {
	uint64_t time;
	size_t n_bytes;              /* that it takes up, with its record and its stack */
	struct named_sample *sample; /* owned; NULL: the end of an off-CPU interval */
	struct dp_off_cpu_end end;
	struct stack_copy *copy; /* owned; to finish the walk, or to verify it; or NULL */
};

/*
 * Bytes from which on a queue is full: as much as the rings have room for together, on
 * most machines (ring_size.h). One reading of them comes on top of that at most.
 */
#define QUEUE_MAX ((size_t)128 << 20)

void queue_done(struct queue *queue);

/* Add a copy of a sample, which has so many bytes; the queue takes over stack, if there is no error. */
int queue_add_sample(struct queue *queue, const struct named_sample *sample, size_t size,
		     struct stack_copy *stack);
int queue_add_off_cpu_end(struct queue *queue, const struct dp_off_cpu_end *end);

/* Put what was added into order; the end of an off-CPU interval comes after a sample of the same time. */
void queue_sort(struct queue *queue);

/* The oldest of those that were put into order, until the queue is changed; NULL: there is none. */
const struct queued *queue_first(const struct queue *queue);
void queue_drop_first(struct queue *queue);
/* Remove it, too, but hand it over: queued_done() releases it. */
struct queued queue_take_first(struct queue *queue);
void queued_done(struct queued *queued);

bool queue_is_full(const struct queue *queue);

#endif
