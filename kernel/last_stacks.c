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

/* p, with room for so many bytes; *size: what there is. NULL, and p is as it was: out of memory. */
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

/* The outermost n_same frames stay, the others are replaced. */
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

/* rest: what is behind the user's frames, so many bytes. */
static int make_whole(struct last_stacks *stacks, const struct dp_sample *sample,
		      const struct last_stack *last, const void *rest, size_t rest_size)
{
	size_t n_user = sample->n_user;
	struct named_sample *room =
		with_room(stacks->whole, &stacks->whole_size,
			  sizeof(*room) + n_user * sizeof(*last->frames) + rest_size);

	if (!room)
		return -ENOMEM;
	stacks->whole = room;
	room->names = last->names;
	room->names.kind = DP_RECORD_NAMES;
	room->sample = *sample;
	room->sample.n_same = 0;
	if (n_user > 0)
		memcpy(room->frames, last->frames, n_user * sizeof(*last->frames));
	memcpy(room->frames + n_user, rest, rest_size);
	return 0;
}

/* So many of the user's frames are in its own record. */
static size_t n_own(const struct dp_sample *sample)
{
	return (size_t)sample->n_user - sample->n_same;
}

/* The labels that are behind a sample, in so many bytes. False: they are not all there. */
static bool has_labels(const struct dp_sample *sample, size_t size)
{
	const __u64 *behind = (const __u64 *)(sample + 1) + n_own(sample) + sample->n_kernel;
	size_t left = size - (size_t)((const char *)behind - (const char *)sample);
	const struct dp_labels *labels = (const void *)behind;

	return left >= sizeof(*labels) && left - sizeof(*labels) >= labels->size;
}

/* The sample of a record, which has so many bytes; NULL: it has none, or is too short. */
static const struct dp_sample *find_sample(const void *record, size_t size, bool has_names)
{
	const struct named_sample *named = record;
	size_t n_names = has_names ? sizeof(named->names) : 0;
	const struct dp_sample *sample = has_names ? &named->sample : record;

	if (size < n_names + sizeof(*sample) || sample->kind != DP_RECORD_SAMPLE ||
	    sample->n_same > sample->n_user || sample->level >= DP_UPROBE_LEVELS ||
	    size < n_names + sizeof(*sample) + (n_own(sample) + sample->n_kernel) * sizeof(__u64) ||
	    ((sample->flags & DP_SAMPLE_LABELS) && !has_labels(sample, size - n_names)))
		return NULL;
	return sample;
}

int last_stacks_complete(struct last_stacks *stacks, const void *record, size_t size,
			 const struct named_sample **ret, size_t *ret_size)
{
	bool has_names = record_kind(record, size) == DP_RECORD_NAMES;
	const struct dp_sample *sample = find_sample(record, size, has_names);
	const struct named_sample *named = record;
	struct last_stack *last;
	const __u64 *frames, *rest;
	size_t rest_size;
	int err = 0;

	if (!sample || sample->n_same > stacks->of[sample->level].n)
		return -EBADMSG;
	last = &stacks->of[sample->level];
	frames = (const __u64 *)(sample + 1);
	if (has_names)
		last->names = named->names;
	if (sample->n_user > 0)
		err = replace(last, frames, n_own(sample), sample->n_same);
	*ret = named;
	*ret_size = size;
	if (err < 0 || (has_names && sample->n_same == 0))
		return err;
	rest = frames + n_own(sample);
	rest_size = size - (size_t)((const char *)rest - (const char *)record);
	err = make_whole(stacks, sample, last, rest, rest_size);
	*ret = stacks->whole;
	*ret_size = sizeof(**ret) + sample->n_user * sizeof(*frames) + rest_size;
	return err;
}
