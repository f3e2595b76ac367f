/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_X86_64_TASK_BPF_H
#define DP_BPF_X86_64_TASK_BPF_H

/* Part of task.bpf.h. */

/* arch/x86/include/asm/segment.h */
#define USER32_CS 0x23

/* A macro, because the verifier sees a context and a task's registers as different types. */
#define REGS_COPY(to, from)                                                                        \
	({                                                                                         \
		(to)->reg[DP_RAX] = (from)->ax;                                                    \
		(to)->reg[DP_RDX] = (from)->dx;                                                    \
		(to)->reg[DP_RCX] = (from)->cx;                                                    \
		(to)->reg[DP_RBX] = (from)->bx;                                                    \
		(to)->reg[DP_RSI] = (from)->si;                                                    \
		(to)->reg[DP_RDI] = (from)->di;                                                    \
		(to)->reg[DP_RBP] = (from)->bp;                                                    \
		(to)->reg[DP_RSP] = (from)->sp;                                                    \
		(to)->reg[DP_R8] = (from)->r8;                                                     \
		(to)->reg[DP_R9] = (from)->r9;                                                     \
		(to)->reg[DP_R10] = (from)->r10;                                                   \
		(to)->reg[DP_R11] = (from)->r11;                                                   \
		(to)->reg[DP_R12] = (from)->r12;                                                   \
		(to)->reg[DP_R13] = (from)->r13;                                                   \
		(to)->reg[DP_R14] = (from)->r14;                                                   \
		(to)->reg[DP_R15] = (from)->r15;                                                   \
		(to)->reg[DP_RIP] = (from)->ip;                                                    \
		(__u16)(from)->cs;                                                                 \
	})

#define REGS_SP(from) ((from)->sp)
#define REGS_ARGUMENT_1(from) ((from)->di)
#define REGS_ARGUMENT_2(from) ((from)->si)
#define REGS_ARGUMENT_3(from) ((from)->dx)
#define REGS_RESULT(from) ((from)->ax)

#define regs_are_compat(cs) ((cs) == USER32_CS)

/* An entry by anything else sets orig_ax to -1 (arch/x86/entry/entry_64.S). */
static __always_inline bool regs_in_syscall(const struct pt_regs___task *regs)
{
	return (long)regs->orig_ax >= 0;
}

/* For the current task. */
static __always_inline bool regs_behind_syscall(const struct pt_regs___task *regs)
{
	__u16 instruction = 0; /* DP_SYSCALL_SIZE */

	if (regs_in_syscall(regs))
		bpf_probe_read_user(&instruction, sizeof(instruction),
				    (const void *)(regs->ip - sizeof(instruction)));
	return instruction == DP_SYSCALL_CODE;
}

/*
 * The base of %fs. The kernel stores it when it switches threads and when asked to set it
 * (arch/x86/kernel/process_64.c); it is stale if the thread has set it itself since.
 */
static __always_inline __u64 thread_base(const struct task_struct *task)
{
	return task->thread.fsbase;
}

#endif
