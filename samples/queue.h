/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_QUEUE_H
#define DP_SAMPLES_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/ring_record.h"

struct stack_copy;

/*
 * What was read from the rings and is not reported yet, in order of time. Rings are read one after
 * the other, so much of it arrives nearly in order.
 */
struct queue {
	struct queued *entries; /* those before `first` are gone */
	size_t first, end, size;
	size_t n_sorted; /* from the start; later ones are in order of arrival */
	size_t n_bytes;  /* of waiting entries */
	size_t n_copies; /* waiting entries with a copy of their stack */
};

struct queued {
	uint64_t time;
	size_t n_bytes;              /* including its record and its stack */
	struct named_sample *sample; /* owned; NULL: the end of an off-CPU interval */
	struct dp_off_cpu_end end;
	struct stack_copy *copy; /* owned; to finish the walk or verify it; or NULL */
};

void queue_done(struct queue *queue);

/* Adds a copy of a sample of `size` bytes. On success the queue owns stack. 0 or -ENOMEM. */
int queue_add_sample(struct queue *queue, const struct named_sample *sample, size_t size,
		     struct stack_copy *stack);
/* 0 or -ENOMEM. */
int queue_add_off_cpu_end(struct queue *queue, const struct dp_off_cpu_end *end);

/* Sorts the additions. The end of an off-CPU interval follows a sample of the same time. */
void queue_sort(struct queue *queue);

/* The oldest sorted entry, valid until the queue changes; NULL: there is none. */
const struct queued *queue_first(const struct queue *queue);
/* Removes it and gives it to the caller, who frees it with queued_done(). */
struct queued queue_take_first(struct queue *queue);
/* Frees the sample and the copy of its stack. */
void queued_done(struct queued *queued);

/* Whether it has QUEUE_MAX bytes. */
bool queue_is_full(const struct queue *queue);

#endif
