/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_MEMO_H
#define DP_BPF_MEMO_H

/*
 * Most stacks of a program differ from the one walked before only in their innermost frames. A
 * frame is the same as one of the previous walk if its address and stack pointer are equal, and
 * its fp if the CFA depends on it. Then it has the same rule, CFA, and location of the return
 * address; if the return address is unchanged, the caller is the same too. Comparing takes a
 * fraction of the time of a lookup, and comparisons do not depend on each other's results.
 *
 *     this walk         leaf a b | d e f g main root      n_same: 6
 *                                | = = = =  =    =
 *     the previous walk   leaf c | d e f g main root
 *
 * Nothing is assumed to be unchanged: the stack and the cookies of the mappings are read again.
 * walk_step() handles frames that are not of the common form, and every end of a walk. After
 * such a frame the two walks can meet again.
 *
 * Each walk writes its trail to one side of w->trail, which is a ring. When it meets the previous
 * walk, its frames so far are moved in front of that one's, on their side. Nothing more has to be
 * written: the rest is the trail of both.
 */

#include "bpf/frame.h"

/* The most frames that are compared, skipped in a search, or moved in one go. */
#define MEMO_FRAMES 32
#define MEMO_SEARCH 32
#define MEMO_MOVE 8

static __always_inline void memo_begin(struct walk *w)
{
	__u32 before = w->memo.side;

	w->memo.n_past = 0;
	if (w->memo.memory_map == w->in.memory_map && w->memo.unwind == w->in.unwind)
		w->memo.n_past = w->memo.n_trail;
	w->memo.memory_map = 0; /* a walk that does not end cannot be followed */
	w->memo.past_side = before;
	w->memo.past_base = w->memo.base;
	w->memo.side = before ^ DP_MAX_FRAMES;
	w->memo.base = 0;
	w->memo.has_met = 0;
	w->memo.same_to = 0;
	w->out.n_same = 0;
	w->memo.past = 0;
	w->memo.meet = 0;
}

/* Makes this walk the previous one of the next walk. */
static __always_inline void memo_end(struct walk *w)
{
	w->memo.memory_map = w->in.memory_map;
	w->memo.unwind = w->in.unwind;
	w->memo.n_trail = w->at.n_frames;
	w->memo.top = (__u32)w->at.sp;
	if (w->memo.has_met && w->memo.same_to == w->at.n_frames &&
	    w->at.n_frames == w->memo.n_past)
		w->out.n_same = w->at.n_frames - w->memo.same_from;
}

/* Frame number n of the previous walk. After the walks have met, both use this walk's numbers. */
static __always_inline struct walk_trail *memo_past(struct walk *w, __u32 n)
{
	return walk_trail_at(w, w->memo.past_side, w->memo.past_base + n);
}

/*
 * Makes the caller of the current candidate the next candidate. Its stack pointer is assumed to be
 * its callee's CFA; if it is not, it has no link.
 */
static __always_inline void memo_pass(struct walk *w)
{
	w->memo.meet = ~0ULL;
	if (w->memo.past + 1 < w->memo.n_past)
		w->memo.meet = memo_past(w, w->memo.past)->cfa;
	w->memo.past++;
}

/*
 * Moves the frames found so far in front of the common frame, which becomes number w->at.n_frames
 * of both.
 */
static long memo_move(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;

	*walk_trail_at(w, w->memo.past_side, w->memo.past_base + i) = *walk_trail(w, i);
	return 0;
}

static __always_inline void memo_join(struct walk *w)
{
	struct walk_ref ref = { w };

	w->memo.past_base += w->memo.past - w->at.n_frames;
	w->memo.n_past += w->at.n_frames - w->memo.past;
	w->memo.past = w->at.n_frames;
	w->memo.met_at = w->at.n_frames;
	/* Usually it is only a few. */
	for (__u32 i = 0; i < MEMO_MOVE && i < w->at.n_frames; i++)
		memo_move(i, &ref);
	if (w->at.n_frames > MEMO_MOVE)
		port_loop(w->at.n_frames, memo_move, &ref);
	/* The last frame has no caller, and the ring has no room for one more. */
	w->memo.same_end = w->memo.n_past < DP_MAX_FRAMES ? w->memo.n_past - 1 : DP_MAX_FRAMES - 1;
	if (w->memo.same_end > w->in.max_frames)
		w->memo.same_end = w->in.max_frames;
	w->memo.side = w->memo.past_side;
	w->memo.base = w->memo.past_base;
	w->memo.has_met = 1;
}

/*
 * True if the next frame is one of the previous walk. After the walks have met, only the frame with
 * the same number can be.
 */
static __always_inline __u32 memo_find(struct walk *w)
{
	const struct walk_trail *p;

	for (__u32 i = 0; i < MEMO_SEARCH && w->memo.meet < w->at.sp && !w->memo.has_met; i++)
		memo_pass(w);
	if (w->memo.meet == w->at.sp && w->memo.past < w->memo.n_past &&
	    (!w->memo.has_met || w->memo.past == w->at.n_frames)) {
		p = memo_past(w, w->memo.past);
		if (DP_FRAME_ADDRESS(p->frame) == w->at.pc &&
		    DP_FRAME_METHOD(p->frame) == w->at.method)
			return 1;
		memo_pass(w);
	} else if (w->memo.has_met) {
		w->memo.past = w->at.n_frames;
		memo_pass(w);
	}
	return 0;
}

/* Goes to frame number n, which belongs to both walks. */
static __always_inline void memo_to(struct walk *w, __u32 n, __u64 fp)
{
	const struct walk_trail *frame = walk_trail(w, n), *callee = walk_trail(w, n - 1);
	/*
	 * If no frame was left, the callee does not belong to both. A mask rather than a branch,
	 * for the verifier.
	 */
	__u64 mask = (__u64)port_opaque(((__s64)w->at.n_frames - (__s64)n) >> 63);

	/* The last frame may not have been added yet: same_to is one more than there are frames. */
	if (w->memo.same_to - w->at.n_frames > 1)
		w->memo.same_from = w->at.n_frames;
	w->memo.same_to = n + 1;
	w->at.pc = DP_FRAME_ADDRESS(frame->frame);
	w->at.method = DP_FRAME_METHOD(frame->frame);
	w->at.fp = fp;
	w->at.sp ^= (w->at.sp ^ callee->cfa) & mask;
	w->at.n_frames = n;
	w->memo.past = n;
	w->memo.meet = w->at.sp;
}

/*
 * True if the caller of a frame is the same as before. *fp changes from the frame's value to the
 * caller's.
 */
static __always_inline int memo_step(struct walk *w, struct walk_trail *frame,
				     const struct walk_trail *caller, __u64 *fp)
{
	__u64 at = DP_CALLER_RA(frame->cfa), saved = at - WALK_BELOW(frame->link);

	if ((!walk_in_window(w, at) || !walk_in_window(w, saved)) &&
	    walk_read_part(w, saved, frame->cfa) < 0)
		return 0;
	if (walk_window_word(w, at) != DP_FRAME_ADDRESS(caller->frame))
		return 0;
	/* Predicted branches instead of data dependencies: no comparison waits for another one. */
	if (frame->fp != *fp) {
		if (frame->link & WALK_BY_FP)
			return 0;
		frame->fp = *fp;
	}
	if (saved != at)
		*fp = walk_window_word(w, saved);
	return 1;
}

/*
 * Cheap test whether the next frame may be one of the previous walk; a call of walk_by_memo() costs
 * more.
 */
static __always_inline __u32 memo_may(const struct walk *w)
{
	return w->at.sp >= w->memo.meet && !w->at.fp_lost && !w->at.lands &&
	       DP_METHOD_IS_CALLER(w->at.method);
}

/* Leaves as many frames as the walks have in common. Returns 1 if the walk can go on. */
PORT_GLOBAL int walk_by_memo(struct walk *w)
{
	__u32 n, end, side, checked = 0, went_on = 1;
	struct walk_trail *frame;
	__u64 fp;

	if (!w || !memo_find(w))
		return 0;
	if (!w->memo.has_met)
		memo_join(w);
	n = w->at.n_frames;
	end = w->memo.same_end;
	side = w->memo.side;
	fp = w->at.fp;
	frame = walk_trail(w, n);
	for (__u32 i = 0; i < MEMO_FRAMES && went_on; i++) {
		struct walk_trail *caller = walk_trail_at(w, side, w->memo.base + n + 1);
		__u32 mapping = WALK_MAPPING(frame->link);

		went_on = 0;
		if (n >= end || frame->link == 0)
			break;
		if (mapping != checked && walk_check(w, mapping) < 0)
			break;
		checked = mapping;
		if (!memo_step(w, frame, caller, &fp))
			break;
		frame = caller;
		went_on = 1;
		n++;
	}
	/* n instead of i: otherwise the verifier would check the rest once for each value of i. */
	memo_to(w, n, fp);
	if (port_opaque(went_on))
		return 1;
	memo_pass(w);
	return 0;
}

static long memo_spell(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;
	__u32 n = w->memo.met_at + i;

	w->out.frames[port_index(n, DP_MAX_FRAMES)] = walk_trail(w, n)->frame;
	return 0;
}

/* Copies all frames but the n_same outermost ones to w->out.frames. */
static __always_inline void memo_spell_out(struct walk *w)
{
	__u32 end = w->at.n_frames - w->out.n_same;
	struct walk_ref ref = { w };

	if (!w->memo.has_met || end <= w->memo.met_at)
		return;
	port_loop(end - w->memo.met_at, memo_spell, &ref);
	w->memo.met_at = end;
}

#endif
