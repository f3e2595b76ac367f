// SPDX-License-Identifier: Apache-2.0
/*
 * The labels of Go's runtime/pprof. go_labels.h in tables/ finds where they are, bpf/labels.h reads
 * those of the thread's goroutine. Whether they belong to the stack is decided by its frames: a
 * thread created by C keeps its goroutine after it has returned to C, and of several Go runtimes in
 * a process the kernel knows only one.
 */
#include "samples/label_source.h"

/* True if a frame is in a Go function of a binary. */
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

/* True if a frame is in a Go binary that has labels, but not those that the kernel reads. */
static bool has_other_go_frame(const struct sample *sample, const struct snapshot *snapshot,
			       const struct binary *known)
{
	/* Most processes have no Go code. */
	for (size_t i = 0; snapshot && snapshot->has_labels && i < snapshot->n_mappings; i++) {
		const struct mapping *m = &snapshot->mappings[i];

		if (m->binary != known && binary_has_labels(m->binary, DP_LABELS_GO) &&
		    has_go_frame(sample, m->binary))
			return true;
	}
	return false;
}

static int add_go_labels(const struct label_source *source, const struct label_context *c,
			 struct label_list *list)
{
	const struct dp_labels *labels = sample_labels(c->named);
	const struct binary *known = snapshot_labelled(c->in_kernel);

	if (!binary_has_labels(known, DP_LABELS_GO))
		labels = NULL;
	else if (has_go_frame(c->sample, known))
		return label_add_record(labels, list);
	/* A walk that ended early may not have reached Go's frames. */
	list->is_cut |= has_other_go_frame(c->sample, c->walked, known) ||
			(labels && c->sample->outcome != DP_COMPLETE);
	return 0;
}

const struct label_source label_go = { .name = "go", .add = add_go_labels };
