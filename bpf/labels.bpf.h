/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_LABELS_BPF_H
#define DP_BPF_LABELS_BPF_H

#include "bpf/copy.bpf.h"
#include "bpf/labels.h"

#include <bpf/bpf_helpers.h>

DP_ASSERT(__builtin_offsetof(struct walk_labels, bytes) ==
		  __builtin_offsetof(struct walk_labels, head) + sizeof(struct dp_labels),
	  "the labels' bytes follow their head");

/* Appends the labels or the context, if any, after n frames. Returns the cells that they take. */
static __always_inline __u32 sample_put_labels(struct walk *w, __u32 n)
{
	const struct dp_snapshot *snapshot;
	__u32 cells;

	if (w->labels.mapping == 0 || !labels_or_context_read(w) ||
	    n > DP_MAX_FRAMES + DP_MAX_KERNEL_FRAMES)
		return 0;
	/* As with the walk: the memory may have been reused for another process. */
	snapshot = port_pool(w, w->in.snapshot_cell);
	if (!snapshot || snapshot->id != w->in.snapshot)
		return 0;
	cells = 1 + (w->labels.size + DP_CELL_SIZE - 1) / DP_CELL_SIZE;
	w->labels.head.part.size = (__u16)(cells * DP_CELL_SIZE);
	cells = port_opaque(cells);
	if (cells > WALK_LABELS_CELLS ||
	    copy_cells(&w->out.frames[n], cells * DP_CELL_SIZE, &w->labels.head) < 0)
		return 0;
	w->out.sample.flags |=
		w->labels.head.part.type == DP_RECORD_LABELS ? DP_SAMPLE_LABELS : DP_SAMPLE_CONTEXT;
	return cells;
}

#endif
