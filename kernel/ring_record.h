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
	__u64 frames
		[]; /* n_user, then n_kernel; then the parts below, in the order of SAMPLE_PARTS */
};

static_assert(offsetof(struct named_sample, sample) == sizeof(struct dp_names) &&
		      offsetof(struct named_sample, frames) ==
			      sizeof(struct dp_names) + sizeof(struct dp_sample),
	      "a record with names and all frames can be taken as it is");

/* The address of a frame's code: a caller's address is behind its call. */
static inline uint64_t frame_code(__u64 frame)
{
	return DP_FRAME_ADDRESS(frame) - DP_METHOD_IS_CALLER(DP_FRAME_METHOD(frame));
}

/* What may follow a sample in its record, in this order. */
static const struct {
	enum dp_sample_flags flag;
	enum dp_record_type type;
	size_t head; /* its fixed fields */
} SAMPLE_PARTS[] = {
	{ DP_SAMPLE_LABELS, DP_RECORD_LABELS, sizeof(struct dp_labels) },
	{ DP_SAMPLE_CONTEXT, DP_RECORD_CONTEXT, sizeof(struct dp_context) },
	{ DP_SAMPLE_THROWN, DP_RECORD_THROWN, sizeof(struct dp_values) },
	{ DP_SAMPLE_VALUES, DP_RECORD_VALUES, sizeof(struct dp_values) },
	{ DP_SAMPLE_SPANS, DP_RECORD_SPANS, sizeof(struct dp_spans) },
	{ DP_SAMPLE_CALLS, DP_RECORD_CALLS, sizeof(struct dp_calls) },
	{ DP_SAMPLE_CRASH, DP_RECORD_CRASH, sizeof(struct dp_crash) },
	{ DP_SAMPLE_RUNTIME, DP_RECORD_RUNTIME, sizeof(struct dp_runtime) },
};

#define N_SAMPLE_PARTS (sizeof(SAMPLE_PARTS) / sizeof(*SAMPLE_PARTS))

/* Are there complete values of each of its probes? */
static inline bool calls_are_whole(const struct dp_calls *calls)
{
	size_t left = calls->part.size - sizeof(*calls);
	const void *at = calls + 1;

	for (unsigned int i = 0; i < DP_MAX_LABEL_PROBES; i++) {
		const struct dp_part *part = at;

		if (!(calls->probes >> i & 1))
			continue;
		if (!part_is_whole(part, left) || part->size < sizeof(struct dp_values))
			return false;
		at = (const char *)at + part->size;
		left -= part->size;
	}
	return calls->probes >> DP_MAX_LABEL_PROBES == 0;
}

/* Are its fixed fields there, and as many frames of a runtime, or calls, as it says? */
static inline bool sample_part_is_whole(const struct dp_part *part)
{
	const void *whole = part; /* and as aligned as all parts */

	for (size_t i = 0; i < N_SAMPLE_PARTS; i++)
		if (part->type == SAMPLE_PARTS[i].type && part->size < SAMPLE_PARTS[i].head)
			return false;
	if (part->type == DP_RECORD_SPANS)
		return (part->size - sizeof(struct dp_spans)) / sizeof(__u64) >=
		       ((const struct dp_spans *)whole)->n;
	if (part->type == DP_RECORD_CALLS)
		return calls_are_whole(whole);
	return part->type != DP_RECORD_RUNTIME ||
	       (part->size - sizeof(struct dp_runtime)) / sizeof(struct dp_runtime_frame) >=
		       ((const struct dp_runtime *)whole)->n;
}

/* A part behind the frames; NULL: the sample has none. */
static inline const void *sample_part(const struct named_sample *named, enum dp_sample_flags flag)
{
	const struct dp_sample *sample = &named->sample;
	const __u64 *at = named->frames + sample->n_user + sample->n_kernel;

	if (!(sample->flags & flag))
		return NULL;
	for (size_t i = 0; i < N_SAMPLE_PARTS && SAMPLE_PARTS[i].flag != flag; i++)
		if (sample->flags & SAMPLE_PARTS[i].flag)
			at += ((const struct dp_part *)at)->size / sizeof(*at);
	return at;
}

/* The labels of a sample; NULL: none. */
static inline const struct dp_labels *sample_labels(const struct named_sample *named)
{
	return sample_part(named, DP_SAMPLE_LABELS);
}

/* What the thread was working on; NULL: not known. */
static inline const struct dp_context *sample_context(const struct named_sample *named)
{
	return sample_part(named, DP_SAMPLE_CONTEXT);
}

/* The values of a probe; NULL: none. */
static inline const struct dp_values *sample_values(const struct named_sample *named)
{
	return sample_part(named, DP_SAMPLE_VALUES);
}

/*
 * The values of the call by which a probe labels the sample; NULL: there is none. If there can be only one such
 * probe, its values are where a sampling probe's values are otherwise.
 */
static inline const struct dp_values *sample_call(const struct named_sample *named,
						  unsigned int probe)
{
	const struct dp_calls *calls = sample_part(named, DP_SAMPLE_CALLS);
	const void *at;

	if (!calls)
		return probe == 0 ? sample_values(named) : NULL;
	at = calls + 1;
	if (!(calls->probes >> probe & 1))
		return NULL;
	for (unsigned int i = 0; i < probe; i++)
		if (calls->probes >> i & 1)
			at = (const char *)at + ((const struct dp_part *)at)->size;
	return at;
}

/* The signal that has ended the process; NULL: none. */
static inline const struct dp_crash *sample_crash(const struct named_sample *named)
{
	return sample_part(named, DP_SAMPLE_CRASH);
}

/* The values of an exception; NULL: none. */
static inline const struct dp_values *sample_thrown(const struct named_sample *named)
{
	return sample_part(named, DP_SAMPLE_THROWN);
}

/* The probed calls on its stack; NULL: none is known. They are as many as it says. */
static inline const struct dp_spans *sample_spans(const struct named_sample *named)
{
	return sample_part(named, DP_SAMPLE_SPANS);
}

/* The address of the exception's type name, if that could not be read; 0: it was read, or there is none. */
static inline __u64 sample_unread_type(const struct named_sample *named)
{
	const struct dp_values *thrown = sample_thrown(named);
	const void *cells = thrown ? thrown + 1 : NULL;

	if (!thrown || !(thrown->unread & 1U << DP_ARGUMENT_TYPE) ||
	    thrown->part.size < sizeof(*thrown) + (DP_ARGUMENT_TYPE + 1) * DP_CELL_SIZE)
		return 0;
	return ((const __u64 *)cells)[DP_ARGUMENT_TYPE];
}

/* The frames of a runtime; NULL: none. They are as many as it says. */
static inline const struct dp_runtime *sample_runtime(const struct named_sample *named)
{
	return sample_part(named, DP_SAMPLE_RUNTIME);
}

/* Could a value not be read? */
static inline bool named_sample_lacks(const struct named_sample *named)
{
	const struct dp_values *values = sample_values(named), *thrown = sample_thrown(named);

	if ((values && values->unread) || (thrown && thrown->unread))
		return true;
	for (unsigned int i = 0; i < DP_MAX_LABEL_PROBES; i++) {
		values = sample_call(named, i);
		if (values && values->unread)
			return true;
	}
	return false;
}

/* Rejects values that no BPF program sends: no format has words for them, and no recording with them can be read. */
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
