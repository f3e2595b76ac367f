/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_LEAVE_H
#define DP_BPF_LEAVE_H

/* Leaving the current frame of a walk for its caller, however its registers were found. */

#include "bpf/walk_state.h"

/*
 * A uretprobe replaces a return address by its trampoline's, wherever the call has put it. Replaces
 * pc, read at `slot`, by the original; negative if that is not known.
 */
static __always_inline int walk_return_address(struct walk *w, __u64 slot, __u64 *pc)
{
	if (w->in.trampoline == 0 || *pc != w->in.trampoline)
		return 0;
	w->at.cost += WALK_COST_URETPROBE;
	*pc = port_origin(w, slot);
	return *pc == 0 ? -1 : 0;
}

/* Leaves the current frame for its caller. */
static __always_inline void walk_leave(struct walk *w, __u64 cfa, __u32 saves,
				       enum dp_method method)
{
	struct walk_trail *t = walk_trail(w, w->at.n_frames - 1);

	t->cfa = cfa;
	t->saves = saves;
	w->at.sp = cfa;
	w->at.method = method;
	w->at.lands = 0;
}

#endif
