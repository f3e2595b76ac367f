/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_RUNTIME_FRAME_H
#define DP_BPF_RUNTIME_FRAME_H

/*
 * The bytes of a runtime's frame. Each read of the process takes as long as a native frame, and as long
 * for 512 bytes as for 8. Where frames follow each other in memory, one read serves several of them.
 */

#include "bpf/walk_state.h"

/* Begins a thread's frames: what was read before may have changed. */
static __always_inline void runtime_frames_begin(struct walk_runtime *r)
{
	r->n_read = 0;
	r->reading++;
}

/* The word at an offset in the frame that was read last. */
static __always_inline __u64 runtime_word(const struct walk_runtime *r, __u32 at)
{
	return port_u64(r->bytes +
			port_index((r->offset + at) & (WALK_RUNTIME_READ - 1), WALK_RUNTIME_READ));
}

/* And the byte. */
static __always_inline __u8 runtime_byte(const struct walk_runtime *r, __u32 at)
{
	return r->bytes[port_index((r->offset + at) & (WALK_RUNTIME_READ - 1), WALK_RUNTIME_READ)];
}

/*
 * Reads from `start` to `end`, around a frame at r->at, but nothing of other pages than the frame's, which
 * may be missing. Returns 0 or negative.
 */
static __always_inline int runtime_read_around(struct walk *w, __u64 start, __u64 end, __u32 size)
{
	struct walk_runtime *r = &w->runtime;
	__u64 page = r->at & ~(__u64)(DP_USER_PAGE_SIZE - 1), n;

	if (start < page)
		start = page;
	if (end > page + DP_USER_PAGE_SIZE)
		end = page + DP_USER_PAGE_SIZE;
	if (end < r->at + size)
		end = r->at + size;
	n = port_opaque(end - start);
	if (n > WALK_RUNTIME_READ)
		n = WALK_RUNTIME_READ;
	r->n_read = 0;
	if (walk_peek(w, r->bytes, (__u32)n, start) < 0)
		return -1;
	r->read_at = start;
	r->n_read = (__u32)n;
	r->offset = (__u32)(r->at - start);
	return 0;
}

/*
 * Has the bytes of the frame at r->at ready for runtime_word(). `below` and `above`: up to how many bytes
 * the next frames may take below and above this one. Returns 0 or negative.
 */
static __always_inline int runtime_read_frame(struct walk *w, __u32 size, __u32 below, __u32 above)
{
	struct walk_runtime *r = &w->runtime;
	__u64 offset = r->at - r->read_at;

	w->at.cost += WALK_COST_FRAME;
	if (offset < r->n_read && r->n_read - offset >= size) {
		r->offset = (__u32)offset;
		return 0;
	}
	return runtime_read_around(w, r->at - below, r->at + size + above, size);
}

#endif
