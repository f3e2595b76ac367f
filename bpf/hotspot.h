/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_HOTSPOT_H
#define DP_BPF_HOTSPOT_H

/*
 * Leaves frames of a HotSpot JVM: of compiled methods, of its interpreter and of stubs. They have no
 * unwind information, but the JVM itself has to find its frames: its heaps of code say where a piece
 * of code (CodeBlob) begins, and that has the size of its frame. What is read need not make sense:
 * searches are bounded.
 */

#include "bpf/frame_code.h"
#include "bpf/thaw.h"

/* The most steps from a segment to its block's first one: enough for code of 2 MiB. */
#define HOTSPOT_HOPS 64
#define HOTSPOT_FREE 255

/* Frames of stubs are smaller than that. */
#define HOTSPOT_STUB_FRAME 4096
/* Words. */
#define HOTSPOT_MAX_FRAME 65536

/* Goes from a segment towards its block's first one. Returns 1 there, or where the search ends. */
static long hotspot_hop(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;
	struct walk_hotspot *s = &w->hotspot;
	__u8 hop;

	if (jit_peek(w, &hop, sizeof(hop), s->map + s->segment) < 0)
		return 1;
	if (hop == 0)
		s->found = 1;
	if (hop == 0 || hop == HOTSPOT_FREE || hop > s->segment)
		return 1;
	s->segment -= hop;
	return 0;
}

/* Finds the heap with an address. Negative: there is none. */
static __always_inline int hotspot_heap(struct walk *w, const struct dp_hotspot *h, __u64 address)
{
	for (__u32 i = 0; i < DP_HOTSPOT_HEAPS; i++)
		if (address - h->heaps[i].start < h->heaps[i].end - h->heaps[i].start) {
			w->hotspot.start = h->heaps[i].start;
			w->hotspot.map = h->heaps[i].map;
			return 0;
		}
	return -1;
}

static __always_inline __u32 hotspot_u32(const struct walk_hotspot *s, __u32 at)
{
	return (__u32)port_u64(s->blob +
			       port_index(at & (DP_HOTSPOT_BLOB_SIZE - 1), DP_HOTSPOT_BLOB_SIZE));
}

static __always_inline __u64 hotspot_u64(const struct walk_hotspot *s, __u32 at)
{
	return port_u64(s->blob +
			port_index(at & (DP_HOTSPOT_BLOB_SIZE - 1), DP_HOTSPOT_BLOB_SIZE));
}

/* Notes what the frame that was added last belongs to. */
static __always_inline void hotspot_note(struct walk *w, __u64 code, __u64 position, __u64 tag)
{
	struct walk_runtime *r = &w->runtime;
	struct dp_runtime_frame *f;

	if (r->head.n >= DP_MAX_RUNTIME_FRAMES)
		return;
	f = &r->frames[port_index(r->head.n, DP_MAX_RUNTIME_FRAMES)];
	f->code = code;
	f->position = position | (__u64)(w->at.n_frames - 1) << DP_NOTE_NUMBER_SHIFT;
	f->tag = tag;
	r->head.kind = DP_RUNTIME_HOTSPOT;
	r->head.outcome = DP_RUNTIME_COMPLETE;
	r->head.n++;
}

/* Reads the address of an interpreter's frame's bytecode: the innermost one has it in a register. */
static __always_inline void hotspot_read_bytecode(struct walk *w, const struct dp_hotspot *h)
{
	struct walk_hotspot *s = &w->hotspot;

	if (w->at.n_frames == 1)
		s->bytecode = w->in.regs.reg[DP_REG_BYTECODE];
	else if (walk_read(w, w->at.fp + h->frame_bytecode, &s->bytecode) < 0)
		s->bytecode = 0;
	s->bytecode -= s->constant;
	if (s->bytecode >= DP_HOTSPOT_BYTECODES)
		s->bytecode = 0;
}

/* An unreadable one has no name. */
static __always_inline void hotspot_note_interpreted(struct walk *w, const struct dp_hotspot *h)
{
	struct walk_hotspot *s = &w->hotspot;

	if (walk_read(w, w->at.fp + h->frame_method, &s->method) == 0 &&
	    jit_peek(w, &s->constant, sizeof(s->constant), s->method + h->method_const) == 0) {
		hotspot_read_bytecode(w, h);
		hotspot_note(w, s->method, DP_HOTSPOT_INTERPRETED | s->bytecode, s->constant);
	}
}

static __always_inline void hotspot_note_compiled(struct walk *w, const struct dp_hotspot *h)
{
	struct walk_hotspot *s = &w->hotspot;
	__u32 id;

	if (jit_peek(w, &id, sizeof(id), s->at + h->method_id) == 0)
		hotspot_note(w, s->at, (__u32)(w->at.pc - s->at), id);
}

/* Reads the header of the piece of code at an address. Negative: there is none. */
static __always_inline int hotspot_blob(struct walk *w, const struct dp_hotspot *h, __u64 address)
{
	struct walk_hotspot *s = &w->hotspot;
	struct walk_ref ref = { w };
	__u32 bits = h->segment_bits & 31;
	__u64 blob;

	if (hotspot_heap(w, h, address) < 0)
		return -1;
	s->segment = (address - s->start) >> bits;
	s->found = 0;
	port_loop(HOTSPOT_HOPS, hotspot_hop, &ref);
	if (!s->found)
		return -1;
	s->at = blob = s->start + (s->segment << bits) + h->header_size;
	if (jit_peek(w, s->blob, DP_HOTSPOT_BLOB_SIZE, blob) < 0)
		return -1;
	s->frame_size = hotspot_u32(s, h->frame_size);
	s->complete = (__s32)hotspot_u32(s, h->frame_complete);
	if (h->complete_size == sizeof(__s16))
		s->complete = (__s16)s->complete;
	s->code = h->code_is_offset ? blob + hotspot_u32(s, h->code_begin) :
				      hotspot_u64(s, h->code_begin);
	return 0;
}

/* jit_is_return(), also of the barrier, which is behind no call. Inlined: calls have little stack left. */
static __always_inline int hotspot_is_return(struct walk *w, __u64 at)
{
	return jit_is_return(w, at) || thaw_is_barrier(w);
}

/* Leaves a frame to which fp points. sp_at: where the caller's stack pointer is; 0: above it. */
static __always_inline enum dp_outcome hotspot_by_fp(struct walk *w, __u64 sp_at)
{
	struct walk_hotspot *s = &w->hotspot;
	__u64 fp = w->at.fp;

	s->cfa = fp + DP_FP_CFA;
	if (w->at.fp_lost)
		return walk_lost_outcome(w->at.fp_lost);
	if (fp % 8 != 0 || fp < w->at.sp)
		return DP_NO_TABLE;
	if (sp_at != 0 && walk_read(w, sp_at, &s->cfa) < 0)
		return DP_READ_FAULT;
	if (sp_at != 0 && jit_is_in_heap(w))
		s->cfa = fp + 8 * s->cfa;
	if (s->cfa < fp + DP_FP_CFA)
		return DP_NO_TABLE;
	return jit_leave(w, s->cfa, fp + DP_FP_RA, fp);
}

/*
 * Leaves a stub, whose frame the JVM does not describe: it has none, or one by fp. Which, is seen by
 * where a return address is.
 */
static __always_inline enum dp_outcome hotspot_stub(struct walk *w)
{
	struct walk_hotspot *s = &w->hotspot;
	__u64 sp = w->at.sp;

	if (!s->is_caller && hotspot_is_return(w, sp))
		return jit_leave(w, DP_FRAME_CFA(sp), sp, 0);
	if (w->at.fp_lost || w->at.fp - sp > HOTSPOT_STUB_FRAME)
		return DP_NO_TABLE;
	if (hotspot_is_return(w, w->at.fp + DP_FP_RA))
		return hotspot_by_fp(w, 0);
	/* The barrier at a method's entry has pushed a word in front of fp. */
	s->cfa = DP_FRAME_CFA(w->at.fp + DP_FP_RA);
	if (!hotspot_is_return(w, s->cfa))
		return DP_NO_TABLE;
	return jit_leave(w, DP_FRAME_CFA(s->cfa), s->cfa, w->at.fp);
}

/* True if the innermost frame is a word larger: intrinsics, such as of String.compareTo(), push one. */
static __always_inline int hotspot_has_pushed(struct walk *w)
{
	__u64 cfa = w->at.sp + 8 * (__u64)w->hotspot.frame_size;

	return !hotspot_is_return(w, DP_CALLER_RA(cfa)) && hotspot_is_return(w, cfa);
}

/* Leaves a compiled method, or a stub that is described like one. */
static __always_inline enum dp_outcome hotspot_compiled(struct walk *w)
{
	struct walk_hotspot *s = &w->hotspot;
	__u64 sp = w->at.sp, cfa = sp + 8 * (__u64)s->frame_size, offset = w->at.pc - s->code;
	struct walk_code *c = &w->code;
	int state = FRAME_CODE_COMPLETE;

	if (!s->is_caller && jit_peek(w, c->bytes, FRAME_CODE_SIZE, w->at.pc) == 0) {
		c->frame_size = 8 * s->frame_size;
		c->ahead = 0;
		if (s->complete > 0 && offset < (__u32)s->complete)
			c->ahead = (__u32)s->complete - (__u32)offset;
		state = frame_code_state(w);
		if (state == FRAME_CODE_COMPLETE && hotspot_has_pushed(w))
			cfa += 8;
	}
	switch (state) {
	case FRAME_CODE_NONE:
		return jit_leave(w, DP_FRAME_CFA(sp), sp, 0);
	case FRAME_CODE_PUSHED:
		return jit_leave(w, sp + DP_FP_CFA, sp + DP_FP_RA, sp);
	case FRAME_CODE_UNSAVED:
		return jit_leave(w, cfa, DP_CALLER_RA(cfa), 0);
	default:
		return jit_leave(w, cfa, DP_CALLER_RA(cfa), cfa - DP_FP_CFA);
	}
}

/*
 * True if the interpreter's innermost frame is complete: the Method is what a new one gets last. The
 * interpreter also has functions of its own, and methods that have just been called.
 */
static __always_inline int hotspot_has_frame(struct walk *w, const struct dp_hotspot *h)
{
	return w->at.fp - w->at.sp >= (__u64)(-(__s64)h->frame_method) &&
	       !hotspot_is_return(w, w->at.sp);
}

static __always_inline enum dp_outcome hotspot_step(struct walk *w, const struct dp_hotspot *h)
{
	__u32 is_caller = w->hotspot.is_caller;
	__u64 at = w->at.pc - (is_caller ? 1 : 0);

	if (at - h->interpreter_start < h->interpreter_end - h->interpreter_start &&
	    (is_caller || hotspot_has_frame(w, h))) {
		hotspot_note_interpreted(w, h);
		return hotspot_by_fp(w, w->at.fp + h->sender_sp);
	}
	if (hotspot_blob(w, h, at) < 0)
		return DP_NO_TABLE;
	hotspot_note_compiled(w, h);
	/* What is above on the stack is the carrier's, and no caller of this frame. */
	if (thaw_has(h, w->at.pc))
		return (enum dp_outcome)thaw_begin(w);
	if (w->at.pc == h->call_stub_return)
		return hotspot_by_fp(w, 0);
	if (w->hotspot.frame_size == 0 || w->hotspot.frame_size > HOTSPOT_MAX_FRAME)
		return hotspot_stub(w);
	return hotspot_compiled(w);
}

/*
 * Leaves the frame at w->at.pc. Returns an enum dp_outcome; DP_NO_TABLE: it is not HotSpot's, or
 * cannot be left.
 */
PORT_GLOBAL int walk_hotspot(struct walk *w, __u32 is_caller)
{
	const struct dp_hotspot *h;
	enum dp_outcome outcome;
	int is_in_heap;

	if (!w)
		return DP_NO_TABLE;
	h = hotspot_of(w);
	if (!h)
		return DP_NO_TABLE;
	w->hotspot.is_caller = is_caller;
	is_in_heap = jit_is_in_heap(w);
	outcome = hotspot_step(w, h);
	return is_in_heap && outcome == DP_WALKING ? thaw_go_on(w) : (int)outcome;
}

#endif
