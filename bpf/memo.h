/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_MEMO_H
#define DP_BPF_MEMO_H

/*
 * Most stacks of a program are, but for their innermost frames, the one that was walked
 * before. A frame is where one of that walk was if its address and its stack pointer are
 * the same, and its fp, if the CFA follows from that. Then so is its rule, its CFA, and
 * where on the stack its caller's address is; and if this is what it was, the caller is
 * the same, too. To compare it takes a fraction of what it takes to look the frame up, and
 * unlike that, one comparison does not have to wait for the one before.
 *
 *     this walk         leaf a b | d e f g main root      n_same: 6
 *                                | = = = =  =    =
 *     the one before      leaf c | d e f g main root
 *
 * Nothing is believed because it was so: the stack is read anew, and so are the cookies of
 * the mappings. Frames that are not of the common form, and all that ends a walk, are left
 * to walk_step(), behind which the two walks can meet again.
 *
 * Each walk writes its trail on one side of w->trail, which is a ring. When it meets the
 * walk before, what it has so far is put in front of that one's frames, on their side,
 * and nothing more has to be written: what follows is the trail of both.
 */

#include "bpf/frame.h"

/* Frames that are compared, that are passed over in search of one, and that are moved, in one go. */
#define MEMO_FRAMES 32
#define MEMO_SEARCH 32
#define MEMO_MOVE 8

static __always_inline void memo_begin(struct walk *w)
{
	__u32 before = w->memo.side;

	w->memo.n_past = 0;
	if (w->memo.memory_map == w->in.memory_map && w->memo.unwind == w->in.unwind)
		w->memo.n_past = w->memo.n_trail;
	w->memo.memory_map = 0; /* a walk that does not end tells nothing */
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

/* What the walk has found is what the next one may follow. */
static __always_inline void memo_end(struct walk *w)
{
	w->memo.memory_map = w->in.memory_map;
	w->memo.unwind = w->in.unwind;
	w->memo.n_trail = w->at.n_frames;
	if (w->memo.has_met && w->memo.same_to == w->at.n_frames &&
	    w->at.n_frames == w->memo.n_past)
		w->out.n_same = w->at.n_frames - w->memo.same_from;
}

/* Frame number n of the walk before; once that was met, the numbers are those of this walk. */
static __always_inline struct walk_trail *memo_past(struct walk *w, __u32 n)
{
	return walk_trail_at(w, w->memo.past_side, w->memo.past_base + n);
}

/*
 * The frame that may be met is the caller of the one that could have been met until now. Its
 * stack pointer is taken to be its callee's CFA: where it is not, it has no link.
 */
static __always_inline void memo_pass(struct walk *w)
{
	w->memo.meet = ~0ULL;
	if (w->memo.past + 1 < w->memo.n_past)
		w->memo.meet = memo_past(w, w->memo.past)->cfa;
	w->memo.past++;
}

/* Put what was found so far in front of the frame that was met: it is number w->at.n_frames of both. */
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
	/* Nearly always it is a few. */
	for (__u32 i = 0; i < MEMO_MOVE && i < w->at.n_frames; i++)
		memo_move(i, &ref);
	if (w->at.n_frames > MEMO_MOVE)
		port_loop(w->at.n_frames, memo_move, &ref);
	/* Of the last frame there is no caller; and the ring has no room for one more. */
	w->memo.same_end = w->memo.n_past < DP_MAX_FRAMES ? w->memo.n_past - 1 : DP_MAX_FRAMES - 1;
	if (w->memo.same_end > w->in.max_frames)
		w->memo.same_end = w->in.max_frames;
	w->memo.side = w->memo.past_side;
	w->memo.base = w->memo.past_base;
	w->memo.has_met = 1;
}

/*
 * Is the next frame one of the walk before? Where that was met, only the one with the same
 * number is still there.
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

/* The walk has come to frame number n, which is one of both walks. */
static __always_inline void memo_to(struct walk *w, __u32 n, __u64 fp)
{
	const struct walk_trail *frame = walk_trail(w, n), *callee = walk_trail(w, n - 1);
	/* Where none was left, the callee is not one of both. Not a branch, for the verifier. */
	__u64 mask = (__u64)port_opaque(((__s64)w->at.n_frames - (__s64)n) >> 63);

	/* The last one may not have been added yet: same_to is one more than there are frames. */
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

/* Read what a frame saved, from that address up to its CFA; negative if that takes two reads. */
PORT_GLOBAL int memo_read(struct walk *w, __u64 from, __u64 cfa)
{
	if (!w || ((cfa - 1) ^ from) >= DP_USER_PAGE_SIZE)
		return -1;
	return walk_read_stack(w, from);
}

/* Is the caller of a frame the same as before? *fp is that of the frame, then the caller's. */
static __always_inline int memo_step(struct walk *w, struct walk_trail *frame,
				     const struct walk_trail *caller, __u64 *fp)
{
	__u64 at = DP_CALLER_RA(frame->cfa), saved = at - WALK_BELOW(frame->link);

	if ((!walk_in_window(w, at) || !walk_in_window(w, saved)) &&
	    memo_read(w, saved, frame->cfa) < 0)
		return 0;
	if (walk_window_word(w, at) != DP_FRAME_ADDRESS(caller->frame))
		return 0;
	/* Branches are foreseen, as they were taken before; no comparison waits for another one. */
	if (frame->fp != *fp) {
		if (frame->link & WALK_BY_FP)
			return 0;
		frame->fp = *fp;
	}
	if (saved != at)
		*fp = walk_window_word(w, saved);
	return 1;
}

/* May the next frame be one of the walk before? To ask takes less than to call walk_by_memo(). */
static __always_inline __u32 memo_may(const struct walk *w)
{
	return w->at.sp >= w->memo.meet && !w->at.fp_lost && !w->at.lands &&
	       DP_METHOD_IS_CALLER(w->at.method);
}

/* Leave as many frames like the walk before as possible; 1 if it is possible to go on. */
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
	/* Not asked by i, or the verifier would look at what follows once for each of its values. */
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

/* Have all frames that are not among the n_same outermost ones in w->out.frames. */
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
