// SPDX-License-Identifier: Apache-2.0
#include "kernel/last_stacks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void last_stacks_done(struct last_stacks *stacks)
{
	for (size_t level = 0; level < DP_UPROBE_LEVELS; level++)
		free(stacks->of[level].frames);
	free(stacks->whole);
	*stacks = (struct last_stacks){ 0 };
}

/*
 * Grows the buffer p of *size bytes to at least `wanted`. NULL if out of memory; p is unchanged
 * then.
 */
static void *with_room(void *p, size_t *size, size_t wanted)
{
	void *grown;

	if (wanted <= *size)
		return p;
	grown = realloc(p, wanted * 2);
	if (grown)
		*size = wanted * 2;
	return grown;
}

/* Keeps the outermost n_same frames and replaces the others. */
static int replace(struct last_stack *last, const __u64 *frames, size_t n, size_t n_same)
{
	__u64 *room = with_room(last->frames, &last->size, (n + n_same) * sizeof(*frames));

	if (!room)
		return -ENOMEM;
	last->frames = room;
	memmove(last->frames + n, last->frames + last->n - n_same, n_same * sizeof(*frames));
	memcpy(last->frames, frames, n * sizeof(*frames));
	last->n = n + n_same;
	return 0;
}

/* The parts of a record with a sample. */
struct parts {
	const struct dp_names *names; /* NULL: unchanged */
	const struct dp_sample *sample;
	const __u64 *frames;            /* n_own() frames and the kernel's addresses */
	const struct dp_labels *labels; /* NULL: none */
	const struct dp_values *values; /* NULL: none */
};

/* The number of user frames in the sample's own record. */
static size_t n_own(const struct dp_sample *sample)
{
	return (size_t)sample->n_user - sample->n_same;
}

/* Is everything there that the sample refers to? */
static bool parts_are_whole(struct parts *parts)
{
	const struct dp_sample *sample = parts->sample;

	if (!sample || sample->part.size < sizeof(*sample) || sample->n_same > sample->n_user ||
	    sample->n_user > DP_MAX_FRAMES || sample->n_kernel > DP_MAX_KERNEL_FRAMES ||
	    sample->level >= DP_UPROBE_LEVELS)
		return false;
	parts->frames =
		part_words(&sample->part, sizeof(*sample), n_own(sample) + sample->n_kernel);
	if (!(sample->flags & DP_SAMPLE_LABELS))
		parts->labels = NULL;
	else if (!parts->labels || parts->labels->part.size < sizeof(*parts->labels))
		return false;
	if (!(sample->flags & DP_SAMPLE_VALUES))
		parts->values = NULL;
	else if (!parts->values || parts->values->part.size < sizeof(*parts->values))
		return false;
	return parts->frames && (!parts->names || parts->names->part.size >= sizeof(*parts->names));
}

static bool find_parts(const char *record, size_t size, struct parts *ret)
{
	const struct dp_part *part;

	*ret = (struct parts){ 0 };
	for (size_t at = 0; at < size; at += part->size) {
		part = (const void *)(record + at);
		if (!part_is_whole(part, size - at))
			return false;
		if (part->type == DP_RECORD_NAMES)
			ret->names = (const void *)part;
		else if (part->type == DP_RECORD_SAMPLE)
			ret->sample = (const void *)part;
		else if (part->type == DP_RECORD_LABELS)
			ret->labels = (const void *)part;
		else if (part->type == DP_RECORD_VALUES)
			ret->values = (const void *)part;
	}
	return parts_are_whole(ret);
}

static size_t size_of(const struct dp_part *part)
{
	return part ? part->size : 0;
}

/* Is the record laid out like a struct named_sample, with all frames? */
static bool is_named_sample(const struct parts *parts, const struct named_sample *record)
{
	const struct dp_sample *sample = parts->sample;
	const char *end = (const char *)(parts->frames + n_own(sample) + sample->n_kernel);
	const char *labels_end = end + size_of(parts->labels ? &parts->labels->part : NULL);

	return parts->names == &record->names && sample == &record->sample &&
	       parts->frames == record->frames && sample->n_same == 0 &&
	       (!parts->labels || (const char *)parts->labels == end) &&
	       (!parts->values || (const char *)parts->values == labels_end);
}

static int make_whole(struct last_stacks *stacks, const struct parts *parts,
		      const struct last_stack *last, size_t *ret_size)
{
	const struct dp_sample *sample = parts->sample;
	size_t n_user = sample->n_user, n = n_user + sample->n_kernel;
	size_t labels_size = size_of(parts->labels ? &parts->labels->part : NULL);
	size_t values_size = size_of(parts->values ? &parts->values->part : NULL);
	struct named_sample *room;

	*ret_size = sizeof(*room) + n * sizeof(*room->frames) + labels_size + values_size;
	room = with_room(stacks->whole, &stacks->whole_size, *ret_size);
	if (!room)
		return -ENOMEM;
	stacks->whole = room;
	room->names = last->names;
	room->names.part = (struct dp_part){ DP_RECORD_NAMES, sizeof(room->names) };
	room->sample = *sample;
	room->sample.part.size = (__u16)(sizeof(*sample) + n * sizeof(*room->frames));
	room->sample.n_same = 0;
	if (n_user > 0)
		memcpy(room->frames, last->frames, n_user * sizeof(*last->frames));
	if (sample->n_kernel > 0)
		memcpy(room->frames + n_user, parts->frames + n_own(sample),
		       sample->n_kernel * sizeof(*room->frames));
	if (labels_size > 0)
		memcpy(room->frames + n, parts->labels, labels_size);
	if (values_size > 0)
		memcpy((char *)(room->frames + n) + labels_size, parts->values, values_size);
	return 0;
}

int last_stacks_complete(struct last_stacks *stacks, const void *record, size_t size,
			 const struct named_sample **ret, size_t *ret_size)
{
	const struct dp_sample *sample;
	struct last_stack *last;
	struct parts parts;
	int err = 0;

	if (!find_parts(record, size, &parts))
		return -EBADMSG;
	sample = parts.sample;
	last = &stacks->of[sample->level];
	if (sample->n_same > last->n)
		return -EBADMSG;
	if (parts.names)
		last->names = *parts.names;
	if (sample->n_user > 0)
		err = replace(last, parts.frames, n_own(sample), sample->n_same);
	*ret = record;
	*ret_size = size;
	if (err < 0 || is_named_sample(&parts, record))
		return err;
	err = make_whole(stacks, &parts, last, ret_size);
	*ret = stacks->whole;
	return err;
}

void last_stacks_forget(struct last_stacks *stacks)
{
	for (size_t level = 0; level < DP_UPROBE_LEVELS; level++) {
		stacks->of[level].names = (struct dp_names){ 0 };
		stacks->of[level].n = 0;
	}
}
