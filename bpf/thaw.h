/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_THAW_H
#define DP_BPF_THAW_H

/*
 * Frames of HotSpot's virtual threads. When one has waited, they are in the heap, in a list of objects
 * (StackChunk). As it goes on, only the innermost are brought back. The outermost of these returns to a
 * barrier, which brings the next ones. There the walk goes on in the heap, where frames are as on a stack, but
 * addresses in those of the interpreter are relative. Behind the last one, it goes on on the stack.
 *
 * What is read need not be sound, and objects may be moved meanwhile.
 */

#include "bpf/jit.h"

/*
 * At the stack's entry of a virtual thread (ContinuationEntry), the second word leads to its Continuation, or
 * the third one (JDK 25). No table of the JVM says so, but what that leads to has to be a StackChunk.
 */
#define THAW_CONTINUATION 8
#define THAW_CONTINUATION_LAST 16
/* The most empty chunks in front of one. */
#define THAW_CHUNKS 4
/* Words. */
#define THAW_MAX_CHUNK (1U << 24)

/* The JVM of the walked process; NULL: it has none. */
static __always_inline const struct dp_hotspot *hotspot_of(struct walk *w)
{
	const struct dp_snapshot *snapshot = port_pool(w, w->in.snapshot_cell);

	if (!snapshot || snapshot->hotspot == 0)
		return NULL;
	return port_pool(w, w->in.snapshot_cell + snapshot->hotspot);
}

/* True in the stubs that bring frames back. */
static __always_inline int thaw_has(const struct dp_hotspot *h, __u64 pc)
{
	return pc - h->thaw_start < h->thaw_end - h->thaw_start;
}

/* True if w->jit.pc, behind no call, is the barrier, and thus a return address. */
static __always_inline int thaw_is_barrier(struct walk *w)
{
	const struct dp_hotspot *h = hotspot_of(w);

	return h && thaw_has(h, w->jit.pc);
}

static __always_inline int thaw_is_chunk(struct walk *w, const struct dp_hotspot *h)
{
	__u32 class;

	return w->hotspot.chunk != 0 &&
	       jit_peek(w, &class, sizeof(class), w->hotspot.chunk + h->oop_class) == 0 &&
	       class == h->chunk_class;
}

/* Sets w->hotspot.chunk to what a reference, of four or eight bytes, leads to. Negative: it is no chunk. */
PORT_GLOBAL int thaw_follow(struct walk *w, __u64 at)
{
	const struct dp_hotspot *h;
	struct walk_hotspot *s;

	if (!w)
		return -1;
	h = hotspot_of(w);
	s = &w->hotspot;
	if (!h || jit_peek(w, &s->word, sizeof(s->word), at) < 0)
		return -1;
	s->chunk = 0;
	if ((__u32)s->word != 0)
		s->chunk = h->oop_base + ((__u64)(__u32)s->word << (h->oop_shift & 31));
	s->is_narrow = 1;
	if (thaw_is_chunk(w, h))
		return 0;
	s->chunk = s->word;
	s->is_narrow = 0;
	return thaw_is_chunk(w, h) ? 0 : -1;
}

/*
 * Goes to the chunk behind w->hotspot.chunk. 1: there is none, so the stack's entry follows; negative: it cannot be
 * read.
 */
static __always_inline int thaw_next(struct walk *w, const struct dp_hotspot *h)
{
	struct walk_hotspot *s = &w->hotspot;
	__u64 is_narrow = s->is_narrow;

	if (thaw_follow(w, s->chunk + h->chunk_parent) == 0)
		return 0;
	return (is_narrow ? (__u32)s->word : s->word) == 0 ? 1 : -1;
}

/*
 * Sets w->hotspot.cfa to where the innermost frame of w->hotspot.chunk, or of those behind it, begins. Negative:
 * there is none.
 */
static __always_inline int thaw_find_frame(struct walk *w, const struct dp_hotspot *h)
{
	struct walk_hotspot *s = &w->hotspot;
	__u32 place[2]; /* of the innermost frame, and of none */

	for (__u32 i = 0; i < THAW_CHUNKS; i++) {
		if (jit_peek(w, &place[0], sizeof(*place), s->chunk + h->chunk_sp) < 0 ||
		    jit_peek(w, &place[1], sizeof(*place), s->chunk + h->chunk_end) < 0)
			return -1;
		s->cfa = s->chunk + h->chunk_stack + 8 * (__u64)place[0];
		if (place[0] != place[1])
			return place[0] < THAW_MAX_CHUNK ? 0 : -1;
		if (thaw_follow(w, s->chunk + h->chunk_parent) < 0)
			return -1;
	}
	return -1;
}

/* In the heap, a frame of the interpreter has its distance from where fp is saved in place of it. */
static __always_inline void thaw_set_fp(struct walk *w, const struct dp_hotspot *h)
{
	if (w->at.pc - h->interpreter_start < h->interpreter_end - h->interpreter_start)
		w->at.fp = w->jit.fp_at + 8 * w->at.fp;
}

/* Goes to the innermost frame of w->hotspot.chunk, or of those behind it. */
static __always_inline int thaw_enter(struct walk *w, const struct dp_hotspot *h)
{
	struct walk_hotspot *s = &w->hotspot;

	if (thaw_find_frame(w, h) < 0)
		return -1;
	w->jit.fp_at = s->cfa - DP_FP_CFA;
	if (walk_read(w, DP_CALLER_RA(s->cfa), &w->jit.pc) < 0 ||
	    walk_read(w, w->jit.fp_at, &w->jit.fp) < 0)
		return -1;
	s->walk = w->in.number;
	walk_leave(w, s->cfa, WALK_SAVES_UNKNOWN, DP_METHOD_JIT);
	w->at.pc = w->jit.pc;
	w->at.fp = w->jit.fp;
	w->at.fp_lost = 0;
	thaw_set_fp(w, h);
	return 0;
}

/* Goes from the barrier into the heap. Returns an enum dp_outcome. */
PORT_GLOBAL int thaw_begin(struct walk *w)
{
	const struct dp_hotspot *h;
	struct walk_hotspot *s;

	if (!w)
		return DP_FRAMES_IN_HEAP;
	h = hotspot_of(w);
	s = &w->hotspot;
	if (!h || h->return_pc == 0 ||
	    jit_peek(w, &s->outermost, sizeof(s->outermost), h->return_pc) < 0)
		return DP_FRAMES_IN_HEAP;
	s->entry = w->at.sp;
	for (__u32 at = THAW_CONTINUATION; at <= THAW_CONTINUATION_LAST; at += 8)
		if (jit_peek(w, &s->word, sizeof(s->word), s->entry + at) == 0 && s->word != 0 &&
		    thaw_follow(w, s->word + h->tail) == 0)
			return thaw_enter(w, h) < 0 ? DP_FRAMES_IN_HEAP : DP_WALKING;
	return DP_FRAMES_IN_HEAP;
}

/* Corrects the position after a frame in the heap was left. Returns an enum dp_outcome. */
PORT_GLOBAL int thaw_go_on(struct walk *w)
{
	const struct dp_hotspot *h;
	struct walk_hotspot *s;
	int found;

	if (!w)
		return DP_FRAMES_IN_HEAP;
	h = hotspot_of(w);
	s = &w->hotspot;
	if (!h)
		return DP_FRAMES_IN_HEAP;
	/* Where a chunk ends, there is also 0. */
	found = w->at.pc == s->outermost;
	if (w->at.pc == 0 || thaw_has(h, w->at.pc))
		found = thaw_next(w, h);
	else if (!found) {
		thaw_set_fp(w, h);
		return DP_WALKING;
	}
	if (found == 0)
		found = thaw_enter(w, h);
	if (found <= 0)
		return found == 0 ? DP_WALKING : DP_FRAMES_IN_HEAP;
	s->walk = 0;
	w->at.pc = s->outermost;
	w->at.sp = s->entry;
	w->at.fp_lost = DP_REGISTER_LOST;
	return DP_WALKING;
}

#endif
