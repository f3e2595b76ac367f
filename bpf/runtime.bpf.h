/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_RUNTIME_BPF_H
#define DP_BPF_RUNTIME_BPF_H

#include "bpf/copy.bpf.h"
#include "bpf/runtime.h"

#include <bpf/bpf_helpers.h>

/* Read the frames of runtimes. */
const volatile bool dp_runtimes;

/* Appends the runtime's frames, if any, after n frames and labels. Returns the cells that they take. */
static __always_inline __u32 sample_put_runtime(struct walk *w, __u32 n)
{
	const struct dp_snapshot *snapshot;
	__u32 cells;

	if ((w->runtime.mapping == 0 && w->runtime.head.n == 0) || !runtime_read_all(w) ||
	    n > DP_MAX_FRAMES + DP_MAX_KERNEL_FRAMES + WALK_LABELS_CELLS + WALK_CALLS_CELLS)
		return 0;
	/* As with the walk: the memory may have been reused for another process. */
	snapshot = port_pool(w, w->in.snapshot_cell);
	if (!snapshot || snapshot->id != w->in.snapshot)
		return 0;
	cells = 1 + (__u32)w->runtime.head.n * (sizeof(struct dp_runtime_frame) / DP_CELL_SIZE);
	w->runtime.head.part = (struct dp_part){ DP_RECORD_RUNTIME, (__u16)(cells * DP_CELL_SIZE) };
	cells = port_opaque(cells);
	if (cells > WALK_RUNTIME_CELLS ||
	    copy_cells(&w->out.frames[n], cells * DP_CELL_SIZE, &w->runtime.head) < 0)
		return 0;
	w->out.sample.flags |= DP_SAMPLE_RUNTIME;
	return cells;
}

#endif
