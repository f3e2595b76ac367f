/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_BREAKPOINT_H
#define DP_BPF_BREAKPOINT_H

#include <linux/types.h>

#include "bpf/arch.h"

/* What the kernel does for a thread at a uprobe (kernel/events/uprobes.c). */
struct breakpoint {
	__u64 copy;      /* it executes the instruction from here on, not 0; else 0 */
	__u64 original;  /* in place of here */
	__u32 is_ahead;  /* the thread has met a breakpoint, which the kernel has yet to handle */
};

/*
 * The address of a thread in its program. Until the kernel handles a breakpoint, pc is behind it, at an
 * instruction's middle, or behind a push that has not happened. A copy lies where no file is.
 */
static inline __u64 breakpoint_pc(const struct breakpoint *b, __u64 pc)
{
	if (b->copy)
		return pc - b->copy < DP_TRAMPOLINE_SIZE ? pc - b->copy + b->original : pc;
	return b->is_ahead ? pc - DP_BREAKPOINT_SIZE : pc;
}

#endif
