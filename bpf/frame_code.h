/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_FRAME_CODE_H
#define DP_BPF_FRAME_CODE_H

/*
 * How far code of known form has made or left its frame, by its next instructions:
 *
 *   int frame_code_state(w)    enum frame_code of w->code
 *
 * Where a frame is made, the instruction that makes it room is looked for from here on; its size must
 * be the frame's.
 */

#include "bpf/walk_state.h"

enum frame_code {
	FRAME_CODE_COMPLETE,
	FRAME_CODE_NONE,    /* only the return address is on the stack */
	FRAME_CODE_PUSHED,  /* the return address, and fp in the word below it */
	FRAME_CODE_UNSAVED, /* complete, but fp is not saved in it yet */
};

/* The eight bytes from here on. */
static __always_inline __u64 code_word(const struct walk_code *c, __u32 at)
{
	return port_u64(c->bytes + port_index(at & (FRAME_CODE_SIZE - 1), FRAME_CODE_SIZE));
}

#include DP_ARCH_FRAME_CODE

#endif
