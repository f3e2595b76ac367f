/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_X86_64_KERNEL_FIELDS_H
#define DP_BPF_X86_64_KERNEL_FIELDS_H

/*
 * Part of DP_KERNEL_FIELDS (kernel_fields.h): members of the types in this folder's kernel.bpf.h.
 */
#define DP_ARCH_FIELDS(X)                                                                          \
	X(thread_struct, fsbase, DP_FOR_ALL, NULL)                                                 \
	X(pt_regs, ax, DP_FOR_TASKS, NULL)                                                         \
	X(pt_regs, bp, DP_FOR_TASKS, NULL)                                                         \
	X(pt_regs, bx, DP_FOR_TASKS, NULL)                                                         \
	X(pt_regs, cs, DP_FOR_TASKS, NULL)                                                         \
	X(pt_regs, cx, DP_FOR_TASKS, NULL)                                                         \
	X(pt_regs, di, DP_FOR_TASKS, NULL)                                                         \
	X(pt_regs, dx, DP_FOR_TASKS, NULL)                                                         \
	X(pt_regs, ip, DP_FOR_TASKS, NULL)                                                         \
	X(pt_regs, orig_ax, DP_FOR_TASKS, NULL)                                                    \
	X(pt_regs, r8, DP_FOR_TASKS, NULL)                                                         \
	X(pt_regs, r9, DP_FOR_TASKS, NULL)                                                         \
	X(pt_regs, r10, DP_FOR_TASKS, NULL)                                                        \
	X(pt_regs, r11, DP_FOR_TASKS, NULL)                                                        \
	X(pt_regs, r12, DP_FOR_TASKS, NULL)                                                        \
	X(pt_regs, r13, DP_FOR_TASKS, NULL)                                                        \
	X(pt_regs, r14, DP_FOR_TASKS, NULL)                                                        \
	X(pt_regs, r15, DP_FOR_TASKS, NULL)                                                        \
	X(pt_regs, si, DP_FOR_TASKS, NULL)                                                         \
	X(pt_regs, sp, DP_FOR_TASKS, NULL)

#endif
