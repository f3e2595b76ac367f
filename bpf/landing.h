/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_LANDING_H
#define DP_BPF_LANDING_H

/*
 * Landings in exception handlers. Before libgcc jumps, uw_install_context_1() (gcc's unwind-dw2.c) copies all
 * registers of the frame that has the handler to where the landing function has saved its caller's, also the
 * return address:
 *
 *     landing function    returns into B now
 *     A                   called the landing function
 *     ...
 *     B                   has the handler
 *
 * Of B only fp is known then: what seems to be its stack pointer is A's. So its CFA is right if it has a frame
 * pointer; or if A, which B has called, has a frame of the same size, as in a recursion.
 */

#include "bpf/call.h"
#include "bpf/walk_state.h"

/* Reads of CALL_LANDING_STEP bytes that reach from the call of uw_install_context_1() to the function's end. */
#define LANDING_STEPS 23
/* A landing function is smaller. */
#define LANDING_MAX_FUNCTION 4096

static long landing_seek(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;
	__u64 from = DP_FRAME_ADDRESS(walk_trail(w, w->at.n_frames - 1)->frame), bytes;

	if (port_read_user(w, &bytes, sizeof(bytes), from + (__u64)i * CALL_LANDING_STEP) < 0)
		return 0;
	return call_lands(bytes);
}

/*
 * Is the return address at pc that of a landing? The call in front of it is then one of another function. To be
 * asked of callees that land (dp_rule.lands).
 */
PORT_GLOBAL int walk_has_landed(struct walk *w)
{
	struct walk_ref ref = { w };
	__u64 callee, bytes, target;

	if (!w || w->at.n_frames == 0)
		return 0;
	callee = DP_FRAME_ADDRESS(walk_trail(w, w->at.n_frames - 1)->frame);
	w->at.cost += (1 + CALL_TARGET_READS) * WALK_COST_WORD;
	if (port_read_user(w, &bytes, sizeof(bytes), w->at.pc - sizeof(bytes)) < 0)
		return 0;
	target = call_target(w, bytes, w->at.pc);
	if (target != 0 && callee - target < LANDING_MAX_FUNCTION)
		return 0;
	w->at.cost += LANDING_STEPS * WALK_COST_WORD;
	/* A match in the last step looks like none: the loop's result is the same. */
	return port_loop(LANDING_STEPS, landing_seek, &ref) < LANDING_STEPS;
}

/*
 * Goes on from the frame that has the handler, whose return address was `callee`. A has that one, too, or the
 * handler's in its place, which is behind no call: user space knows it. Anything else is no return address.
 */
PORT_GLOBAL int walk_from_landing(struct walk *w, __u64 callee)
{
	__u64 bytes;

	if (!w || w->at.pc == callee)
		return DP_WALKING;
	w->at.cost += WALK_COST_WORD;
	if (port_read_user(w, &bytes, sizeof(bytes), w->at.pc - sizeof(bytes)) < 0)
		return DP_WALKING;
	return call_ends(bytes) ? DP_NO_CALL : DP_WALKING;
}

#endif
