// SPDX-License-Identifier: Apache-2.0
#include "samples/labels.h"

#include <errno.h>

/* Whose labels the kernel reads; NULL: nobody's. */
static const struct binary *space_labelled(const struct space *space)
{
	return space && space->labels > 0 ? space->mappings[space->labels - 1].binary : NULL;
}

/* Is a frame in a Go function of a binary? */
static bool is_in_go(const struct frame *frame, const struct binary *b)
{
	return frame->module == b->module && frame->offset >= b->elf.go_start &&
	       frame->offset < b->elf.go_end;
}

static bool has_go_frame(const struct sample *sample, const struct binary *b)
{
	for (size_t i = 0; i < sample->n_user; i++)
		if (is_in_go(&sample->user[i], b))
			return true;
	return false;
}

/* Is there a frame in a Go program or library that has labels, but not those the kernel knows? */
static bool has_other_go_frame(const struct sample *sample, const struct space *space,
			       const struct binary *known)
{
	/* Most processes have no Go at all. */
	for (size_t i = 0; space && space->has_labels && i < space->n_mappings; i++) {
		const struct mapping *m = &space->mappings[i];

		if (m->binary && m->binary != known && m->binary->table &&
		    m->binary->table->has_labels && has_go_frame(sample, m->binary))
			return true;
	}
	return false;
}

static int unknown_labels(struct label_set **ret)
{
	return label_set_new_texts(NULL, 0, true, ret);
}

int labels_new(const struct named_sample *named, const struct space *taken,
	       const struct space *walked, const struct sample *sample, struct label_set **ret)
{
	const struct dp_sample *raw = &named->sample;
	const struct dp_labels *labels =
		(const void *)(named->frames + raw->n_user + raw->n_kernel);
	const struct binary *known = space_labelled(taken);

	*ret = NULL;
	if (known && has_go_frame(sample, known)) {
		if (raw->flags & DP_SAMPLE_LABELS)
			return label_set_new(labels, sizeof(*labels) + labels->size, ret);
		return 0;
	}
	if (has_other_go_frame(sample, walked, known))
		return unknown_labels(ret);
	/* A walk that ended early may not have come to Go's frames. */
	if ((raw->flags & DP_SAMPLE_LABELS) && sample->outcome != DP_COMPLETE)
		return unknown_labels(ret);
	return 0;
}
