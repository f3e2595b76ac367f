/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_BREAKPOINT_H
#define DP_BPF_BREAKPOINT_H

#include "bpf/abi.h"

/* What the kernel does for a thread at a uprobe (kernel/events/uprobes.c). */
struct breakpoint {
	__u64 copy;     /* where it executes the instruction, or did so last; 0: nowhere */
	__u64 original; /* and where that is in the program */
	__u32 is_ahead; /* it has met a breakpoint, in whose place nothing has been executed yet */
};

/*
 * The address of a thread in its program. Until the kernel handles a breakpoint, pc is behind it,
 * at an instruction's middle, or behind a push that has not happened. A copy lies where no file is.
 */
static inline __u64 breakpoint_pc(const struct breakpoint *b, __u64 pc)
{
	if (b->copy && pc - b->copy < DP_TRAMPOLINE_SIZE)
		return b->original + (pc - b->copy);
	return b->is_ahead ? pc - DP_BREAKPOINT_SIZE : pc;
}

/* May what looks like a breakpoint in front of pc be in a gap between functions? Go and lld fill it so. */
static inline __u32 breakpoint_may_be_gap(__u64 pc)
{
	return pc % DP_FUNCTION_ALIGNMENT == 0;
}

/*
 * Has a push in place of the breakpoint in front of pc been executed? Then the stack's top has a
 * register.
 */
static inline __u32 breakpoint_has_pushed(const struct dp_regs *regs, __u64 top)
{
	__u32 found = 0;

#define X(name) found |= regs->reg[DP_##name] == top;
	DP_PUSHED_REGISTERS(X)
#undef X
	return found;
}

#endif
