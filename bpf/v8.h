/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_V8_H
#define DP_BPF_V8_H

/*
 * Notes which functions the frames of V8's code belong to (struct dp_v8). The walk has left them by
 * their frame pointer, below which V8 keeps the function, or the type of a frame that has none. What
 * is read need not make sense: user space verifies it before it believes anything.
 */

#include "bpf/walk_state.h"

static __always_inline __u64 v8_word(const __u8 *bytes, __u32 at)
{
	return port_u64(bytes + port_index(at & (DP_V8_READ_SIZE - 1), DP_V8_READ_SIZE));
}

static __always_inline __u32 v8_is_object(__u64 word)
{
	return (word & DP_V8_TAG_MASK) == DP_V8_OBJECT_TAG;
}

/* Reads the function's SharedFunctionInfo, which does not move as often. Negative: there is none. */
static __always_inline int v8_read_shared(struct walk *w, __u64 function)
{
	struct walk_v8 *v = &w->v8;

	if (walk_peek(w, &v->shared, sizeof(v->shared),
		      function - DP_V8_OBJECT_TAG + v->layout.shared) < 0 ||
	    !v8_is_object(v->shared))
		return -1;
	return walk_peek(w, v->bytes, DP_V8_READ_SIZE, v->shared - DP_V8_OBJECT_TAG);
}

/* True if the frame has its function: one that is being made has what was on the stack before. */
static __always_inline __u32 v8_is_made(struct walk *w, __u32 i)
{
	__u64 slot = walk_trail(w, i)->fp - DP_V8_SLOTS_SIZE + w->v8.layout.function;
	__u64 sp = i == 0 ? w->in.regs.reg[DP_REG_SP] : walk_trail(w, i - 1)->cfa;

	return sp <= slot;
}

/* Notes the function of frame number i. */
static long v8_frame_step(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;
	struct walk_runtime *r = &w->runtime;
	struct walk_v8 *v = &w->v8;
	struct dp_runtime_frame *f;
	__u64 function;

	if (i + 1 >= w->at.n_frames || r->head.n >= DP_MAX_RUNTIME_FRAMES)
		return 1;
	if (runtime_is_over(w)) {
		r->head.outcome = DP_RUNTIME_MANY_FRAMES;
		return 1;
	}
	if (DP_FRAME_METHOD(walk_trail(w, i + 1)->frame) != DP_METHOD_FRAME_POINTER ||
	    !v8_is_made(w, i))
		return 0;
	if (walk_peek(w, v->bytes, DP_V8_SLOTS_SIZE, walk_trail(w, i)->fp - DP_V8_SLOTS_SIZE) < 0)
		return 0;
	function = v8_word(v->bytes, v->layout.function);
	v->offset = v8_word(v->bytes, v->layout.offset);
	if (!v8_is_object(v8_word(v->bytes, v->layout.context)) || !v8_is_object(function) ||
	    v8_read_shared(w, function) < 0)
		return 0;
	f = &r->frames[port_index(r->head.n & (DP_MAX_RUNTIME_FRAMES - 1), DP_MAX_RUNTIME_FRAMES)];
	f->code = v->shared;
	f->position = (__u64)i << DP_NOTE_NUMBER_SHIFT | (__u32)(v->offset >> DP_V8_SMI_SHIFT);
	f->tag = v8_tag(v8_word(v->bytes, v->layout.name), v8_word(v->bytes, v->layout.script));
	r->head.n++;
	return 0;
}

static __always_inline void v8_read(struct walk *w, const struct dp_runtime_image *image)
{
	struct walk_ref ref = { w };

	w->v8.layout = image->v8;
	w->runtime.head.outcome = DP_RUNTIME_COMPLETE;
	port_loop(DP_MAX_FRAMES, v8_frame_step, &ref);
}

#endif
