// SPDX-License-Identifier: Apache-2.0
#include "last_stacks.h"

#include <errno.h>
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

static int make_whole(struct last_stacks *stacks, const struct dp_sample *sample,
		      const struct last_stack *last, const __u64 *kernel)
{
	size_t n_user = last->n, n_kernel = sample->n_kernel;
	struct dp_sample *room = with_room(stacks->whole, &stacks->whole_size,
					   sizeof(*sample) + (n_user + n_kernel) * sizeof(*kernel));
	__u64 *frames;

	if (!room)
		return -ENOMEM;
	stacks->whole = room;
	*stacks->whole = *sample;
	stacks->whole->n_same = 0;
	frames = (__u64 *)(stacks->whole + 1);
	memcpy(frames, last->frames, n_user * sizeof(*frames));
	memcpy(frames + n_user, kernel, n_kernel * sizeof(*frames));
	return 0;
}

int last_stacks_complete(struct last_stacks *stacks, const struct dp_sample *sample, size_t size,
			 const struct dp_sample **ret, size_t *ret_size)
{
	const __u64 *frames = (const __u64 *)(sample + 1);
	struct last_stack *last;
	size_t n_own;
	int err;

	if (size < sizeof(*sample) || sample->n_same > sample->n_user ||
	    sample->level >= DP_UPROBE_LEVELS)
		return -EBADMSG;
	last = &stacks->of[sample->level];
	n_own = (size_t)sample->n_user - sample->n_same;
	if (sample->n_same > last->n ||
	    size < sizeof(*sample) + (n_own + sample->n_kernel) * sizeof(*frames))
		return -EBADMSG;
	*ret = sample;
	*ret_size = size;
	if (sample->n_user == 0)
		return 0;
	err = replace(last, frames, n_own, sample->n_same);
	if (err < 0 || sample->n_same == 0)
		return err;
	err = make_whole(stacks, sample, last, frames + n_own);
	*ret = stacks->whole;
	*ret_size = sizeof(*sample) + (last->n + sample->n_kernel) * sizeof(*frames);
	return err;
}
