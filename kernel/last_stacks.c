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
	const __u64 *frames; /* n_own() frames and the kernel's addresses */
	/* What the sample has behind them, in the order of SAMPLE_PARTS; NULL: not there */
	const struct dp_part *behind[N_SAMPLE_PARTS];
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
	for (size_t i = 0; i < N_SAMPLE_PARTS; i++) {
		if (!(sample->flags & SAMPLE_PARTS[i].flag))
			parts->behind[i] = NULL;
		else if (!parts->behind[i] || !sample_part_is_whole(parts->behind[i]))
			return false;
	}
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
		for (size_t i = 0; i < N_SAMPLE_PARTS; i++)
			if (part->type == SAMPLE_PARTS[i].type)
				ret->behind[i] = part;
	}
	return parts_are_whole(ret);
}

/* Is the record laid out like a struct named_sample, with all frames? */
static bool is_named_sample(const struct parts *parts, const struct named_sample *record)
{
	const struct dp_sample *sample = parts->sample;
	const char *end = (const char *)(parts->frames + n_own(sample) + sample->n_kernel);

	for (size_t i = 0; i < N_SAMPLE_PARTS; i++) {
		if (!parts->behind[i])
			continue;
		if ((const char *)parts->behind[i] != end)
			return false;
		end += parts->behind[i]->size;
	}
	return parts->names == &record->names && sample == &record->sample &&
	       parts->frames == record->frames && sample->n_same == 0;
}

static int make_whole(struct last_stacks *stacks, const struct parts *parts,
		      const struct last_stack *last, size_t *ret_size)
{
	const struct dp_sample *sample = parts->sample;
	size_t n_user = sample->n_user, n = n_user + sample->n_kernel;
	struct named_sample *room;
	char *to;

	*ret_size = sizeof(*room) + n * sizeof(*room->frames);
	for (size_t i = 0; i < N_SAMPLE_PARTS; i++)
		*ret_size += parts->behind[i] ? parts->behind[i]->size : 0;
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
	to = (char *)(room->frames + n);
	for (size_t i = 0; i < N_SAMPLE_PARTS; i++)
		if (parts->behind[i])
			to = (char *)mempcpy(to, parts->behind[i], parts->behind[i]->size);
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
