// SPDX-License-Identifier: Apache-2.0
/*
 * The labels of Go's runtime/pprof. The kernel reads them where the thread's goroutine keeps them;
 * that they are about the stack, its frames tell: a thread that C has made keeps its goroutine when
 * it is back in C, and a process may have more than one Go runtime, of which the kernel knows one.
 */
#include "samples/label_source.h"

/* Whose labels the kernel reads; NULL: nobody's. */
static const struct binary *snapshot_labelled(const struct snapshot *snapshot)
{
	return snapshot && snapshot->labels > 0 ? snapshot->mappings[snapshot->labels - 1].binary :
						  NULL;
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
static bool has_other_go_frame(const struct sample *sample, const struct snapshot *snapshot,
			       const struct binary *known)
{
	/* Most processes have no Go at all. */
	for (size_t i = 0; snapshot && snapshot->has_labels && i < snapshot->n_mappings; i++) {
		const struct mapping *m = &snapshot->mappings[i];

		if (m->binary && m->binary != known && m->binary->table &&
		    m->binary->table->has_labels && has_go_frame(sample, m->binary))
			return true;
	}
	return false;
}

static int add_go_labels(const struct label_source *source, const struct label_context *c,
			 struct label_list *list)
{
	const struct dp_sample *raw = &c->named->sample;
	const struct dp_labels *labels =
		(const void *)(c->named->frames + raw->n_user + raw->n_kernel);
	const struct binary *known = snapshot_labelled(c->taken);

	if (known && has_go_frame(c->sample, known)) {
		if (raw->flags & DP_SAMPLE_LABELS)
			return label_list_add_raw(list, labels);
		return 0;
	}
	/* A walk that ended early may not have come to Go's frames. */
	list->is_cut |= has_other_go_frame(c->sample, c->walked, known) ||
			((raw->flags & DP_SAMPLE_LABELS) && c->sample->outcome != DP_COMPLETE);
	return 0;
}

const struct label_source label_go = { .name = "go", .add = add_go_labels };
