/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_X86_64_KERNEL_BPF_H
#define DP_BPF_X86_64_KERNEL_BPF_H

/* Part of kernel.bpf.h: types that depend on the architecture. */

struct thread_struct {
	unsigned long fsbase;
} DP_CORE;

/*
 * The context of perf_event and uprobe programs, arch/x86/include/uapi/asm/ptrace.h. It is part of
 * the kernel's interface, so it needs no relocation. A context may only be read by whole words.
 */
struct pt_regs {
	unsigned long r15, r14, r13, r12;
	unsigned long bp, bx;
	unsigned long r11, r10, r9, r8;
	unsigned long ax, cx, dx, si, di;
	unsigned long orig_ax;
	unsigned long ip, cs, flags, sp, ss;
};

/* The same registers in a task, where the kernel's type information has each member. */
struct pt_regs___task {
	unsigned long r15, r14, r13, r12;
	unsigned long bp, bx;
	unsigned long r11, r10, r9, r8;
	unsigned long ax, cx, dx, si, di;
	unsigned long orig_ax;
	unsigned long ip, cs, sp;
} DP_CORE;

#endif
