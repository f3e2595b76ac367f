/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_RING_RECORD_H
#define DP_KERNEL_RING_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

/* Does a complete part begin here, in at most `size` bytes? */
static inline bool part_is_whole(const struct dp_part *part, size_t size)
{
	return size >= sizeof(*part) && part->size >= sizeof(*part) && part->size <= size &&
	       part->size % DP_CELL_SIZE == 0;
}

/*
 * Returns the last n words of a part whose first `head` bytes are its head; NULL if it is too
 * short.
 */
static inline const __u64 *part_words(const struct dp_part *part, size_t head, size_t n)
{
	size_t size = n * sizeof(__u64);

	if (part->size < head + size)
		return NULL;
	return (const void *)((const char *)part + part->size - size);
}

/* Returns the chunk->n_bytes bytes of the stack in a chunk; NULL if there are none, or not so many. */
static inline const void *chunk_bytes(const struct dp_chunk *chunk)
{
	if (chunk->part.size < sizeof(*chunk) || chunk->n_bytes == 0 ||
	    chunk->part.size - sizeof(*chunk) < chunk->n_bytes)
		return NULL;
	return (const char *)chunk + chunk->part.size - chunk->n_bytes;
}

/*
 * A sample with its names and all its frames, from its own record or earlier ones. Its parts have
 * exactly the size of their structures, and n_same is 0.
 */
struct named_sample {
	struct dp_names names;
	struct dp_sample sample;
	/*
	 * n_user, then n_kernel; then struct dp_labels with DP_SAMPLE_LABELS, and struct dp_values
	 * with DP_SAMPLE_VALUES
	 */
	__u64 frames[];
};

static_assert(offsetof(struct named_sample, sample) == sizeof(struct dp_names) &&
		      offsetof(struct named_sample, frames) ==
			      sizeof(struct dp_names) + sizeof(struct dp_sample),
	      "a record with names and all frames can be taken as it is");

/* The values of a sample, or NULL if it has none. */
static inline const struct dp_values *named_sample_values(const struct named_sample *named)
{
	const struct dp_sample *sample = &named->sample;
	const __u64 *at = named->frames + sample->n_user + sample->n_kernel;

	if (!(sample->flags & DP_SAMPLE_VALUES))
		return NULL;
	if (sample->flags & DP_SAMPLE_LABELS)
		at += ((const struct dp_part *)at)->size / sizeof(*at);
	return (const struct dp_values *)at;
}

/* Could a value not be read? */
static inline bool named_sample_lacks(const struct named_sample *named)
{
	const struct dp_values *values = named_sample_values(named);

	return values && values->unread;
}

/* No kernel sends others. There are no words for them, and recordings of them cannot be read. */
static inline bool sample_is_plausible(const struct named_sample *named)
{
	const struct dp_sample *sample = &named->sample;

	for (size_t i = 0; i < sample->n_user; i++)
		if (DP_FRAME_METHOD(named->frames[i]) >= DP_N_METHODS)
			return false;
	return sample->pid < INT32_MAX && sample->tid < INT32_MAX && sample->event < DP_N_EVENTS &&
	       (sample->event != DP_EVENT_OFF_CPU || sample->state < DP_N_STATES) &&
	       sample->kernel_error <= 0 && sample->kernel_error >= DP_KERNEL_HIDDEN;
}

#endif
