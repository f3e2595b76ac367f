/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_JIT_H
#define DP_BPF_JIT_H

/* What frames of JIT compilers' code have in common. */

#include "bpf/frame.h"
#include "bpf/leave.h"

/* Reads a few bytes of a compiler's tables, or of its code. */
static __always_inline int jit_peek(struct walk *w, void *dst, __u32 size, __u64 address)
{
	w->at.cost += WALK_COST_PEEK;
	return walk_is_over(w) ? -1 : port_read_user(w, dst, size, address);
}

/* True if the word at an address of the stack is a return address: behind a call, in known code. */
PORT_GLOBAL int jit_is_return(struct walk *w, __u64 at)
{
	struct walk_jit *j;
	int place;

	if (!w)
		return 0;
	j = &w->jit;
	j->pc = 0;
	if (at % 8 != 0 || walk_read(w, at, &j->pc) < 0)
		return 0;
	place = walk_look_up_noinline(w, j->pc - 1);
	if (place < 0)
		return 0;
	if (w->cache[port_index((__u32)place, WALK_CACHE_SIZE)].link == 0)
		return 0;
	return jit_peek(w, &j->bytes, sizeof(j->bytes), j->pc - sizeof(j->bytes)) == 0 &&
	       call_ends(j->bytes);
}

/* True while the walk is in frames of a virtual thread that are in the heap: see thaw.h. */
static __always_inline int jit_is_in_heap(const struct walk *w)
{
	return w->hotspot.walk == w->in.number;
}

/* Goes to the caller, whose stack pointer is `cfa`, and whose address and fp are there. */
static __always_inline enum dp_outcome jit_leave(struct walk *w, __u64 cfa, __u64 ra_at,
						 __u64 fp_at)
{
	struct walk_jit *j = &w->jit;

	j->fp = w->at.fp;
	j->fp_at = fp_at;
	if (cfa <= w->at.sp)
		return DP_STACK_DIRECTION;
	if (walk_read(w, ra_at, &j->pc) < 0 || (fp_at != 0 && walk_read(w, fp_at, &j->fp) < 0))
		return DP_READ_FAULT;
	if (walk_return_address(w, ra_at, &j->pc) < 0)
		return DP_URETPROBE;
	if (j->pc == 0 && !jit_is_in_heap(w))
		return DP_NULL_RETURN;
	walk_leave(w, cfa, WALK_SAVES_UNKNOWN, DP_METHOD_JIT);
	w->at.pc = j->pc;
	w->at.fp = j->fp;
	if (fp_at != 0)
		w->at.fp_lost = 0;
	return DP_WALKING;
}

#endif
