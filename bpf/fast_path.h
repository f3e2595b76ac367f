/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_FAST_PATH_H
#define DP_BPF_FAST_PATH_H

/*
 * Leaves several frames in one go. Nearly all callers have a rule of the common form
 * (walk_remember()), and the part of the stack that they need was read with their callee's. The
 * loop keeps the registers in CPU registers and does not branch on properties of a frame. It
 * decides nothing: any other frame, and any end of the walk, is left to walk_step(), which gives
 * the same result.
 */

#include "bpf/frame.h"

/* The most frames that are left in one go. */
#define FAST_PATH_FRAMES 8

/* Returns the cache entry of the caller at pc, or NULL. Its mapping may still be unchecked. */
static __always_inline const struct walk_cached *fast_path_find(struct walk *w, __u64 pc)
{
	const struct walk_cached *c = port_opaque(&w->cache[walk_cache_index(w, pc - 1)]);

	if (c->pc != pc - 1)
		c++;
	return walk_is_at(w, c, pc - 1) ? c : NULL;
}

/* Returns what is known of the caller at pc, which may be new; NULL: not enough. */
static __always_inline const struct walk_cached *fast_path_look_up(struct walk *w, __u64 pc)
{
	const struct walk_cached *c = fast_path_find(w, pc);
	int place;

	if (c && c->step == 0)
		return NULL;
	if (c && walk_is_checked(w, WALK_MAPPING(c->link)))
		return c;
	place = walk_look_up_noinline(w, pc - 1);
	if (place < 0)
		return NULL;
	c = &w->cache[port_index((__u32)place, WALK_CACHE_SIZE)];
	return c->step != 0 ? c : NULL;
}

/* The registers, and the lowest stack address that must be read first. */
struct fast_path {
	__u64 pc, sp, fp;
	__u64 missing;
};

/* All bits set if fp is saved `below` bytes below the return address; 0 for 0. */
static __always_inline __u64 fast_path_saves_fp(__u64 below)
{
	return (__u64)((__s64)port_opaque(0 - below) >> 63);
}

/* Leaves frame number n. Returns 1 on success. */
static __always_inline __u32 fast_path_step(struct walk *w, struct fast_path *s, __u32 n)
{
	const struct walk_cached *c = fast_path_look_up(w, s->pc);
	__u64 cfa, slot, caller, saved, frame;
	struct walk_trail *t;

	if (!c)
		return 0;
	cfa = (s->fp ^ ((s->fp ^ s->sp) & port_opaque(0 - (__u64)c->is_sp))) + c->step;
	slot = DP_CALLER_RA(cfa) - WALK_BELOW(c->link);
	if (cfa <= s->sp)
		return 0;
	if (!walk_in_window(w, slot) || !walk_in_window(w, DP_CALLER_RA(cfa))) {
		/* The two are close: if they are in one page, one read covers both. */
		s->missing = ((cfa - 1) ^ slot) < DP_USER_PAGE_SIZE ? slot : 0;
		return 0;
	}
	caller = walk_window_word(w, DP_CALLER_RA(cfa));
	saved = walk_window_word(w, slot);
	if (caller == 0 || caller == w->in.trampoline)
		return 0;
	frame = DP_FRAME_ADDRESS(s->pc) | (__u64)DP_METHOD_TABLE << DP_METHOD_SHIFT;
	t = walk_trail(w, n);
	t->frame = frame;
	t->fp = s->fp;
	t->cfa = cfa;
	t->saves = c->saves;
	t->link = c->link;
	w->out.frames[port_index(n, DP_MAX_FRAMES)] = frame;
	s->fp ^= (s->fp ^ saved) & fast_path_saves_fp(DP_CALLER_RA(cfa) - slot);
	s->sp = cfa;
	s->pc = caller;
	return 1;
}

/* Cheap test whether the next frame qualifies; a call of walk_fast_path() costs more. */
static __always_inline __u32 fast_path_may(struct walk *w)
{
	const struct walk_cached *c;

	if (w->at.method != DP_METHOD_TABLE || w->in.unwind == DP_UNWIND_FP || w->at.fp_lost ||
	    w->at.lands)
		return 0;
	c = fast_path_find(w, w->at.pc);
	return !c || c->step != 0;
}

/*
 * Leaves as many frames as possible, until the previous walk may be followed. Returns 1 if the walk
 * can go on.
 */
PORT_GLOBAL int walk_fast_path(struct walk *w)
{
	struct fast_path s = { 0 };
	__u32 n, went_on = 1;

	/* The verifier checks a global function without knowledge of its callers. */
	if (!w || !fast_path_may(w) || !walk_is_above(w, w->at.n_frames))
		return 0;
	s.pc = w->at.pc;
	s.sp = w->at.sp;
	s.fp = w->at.fp;
	n = w->at.n_frames;
	for (__u32 i = 0; i < FAST_PATH_FRAMES && went_on; i++) {
		went_on = n < w->in.max_frames && fast_path_step(w, &s, n);
		n += went_on;
		if (s.sp >= w->memo.meet)
			break;
	}
	w->at.pc = s.pc;
	w->at.sp = s.sp;
	w->at.fp = s.fp;
	w->at.n_frames = n;
	if (s.missing != 0)
		return walk_read_part(w, s.missing, s.missing + 1) == 0;
	return (int)port_opaque(went_on);
}

#endif
