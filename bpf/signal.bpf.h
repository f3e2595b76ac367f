/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_SIGNAL_BPF_H
#define DP_BPF_SIGNAL_BPF_H

/*
 * A signal that is delivered: whether it ends its process, and how a sample tells of it. In
 * functions with a stack of their own: their caller's is needed by the walk.
 */

#include <stdbool.h>

#include "bpf/kernel.bpf.h"
#include "bpf/task.bpf.h"
#include "bpf/walk_state.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/*
 * Those whose default action is a core dump: SIG_KERNEL_COREDUMP_MASK, include/linux/signal.h, with
 * the numbers of uapi/asm-generic/signal.h: SIGQUIT, ILL, TRAP, ABRT, BUS, FPE, SEGV, XCPU, XFSZ,
 * SYS.
 */
#define CORE_SIGNALS                                                                               \
	(1U << 3 | 1U << 4 | 1U << 5 | 1U << 6 | 1U << 7 | 1U << 8 | 1U << 11 | 1U << 24 |         \
	 1U << 25 | 1U << 31)

/* include/linux/sched/signal.h */
#define SIGNAL_UNKILLABLE 0x40

/*
 * Is no handler of the program's own called? struct k_sigaction begins with what rt_sigaction(2)
 * has copied from user space, and that with the handler. SIG_DFL is 0.
 */
static __always_inline bool is_default_action(const void *action)
{
	__u64 handler;

	return action && bpf_probe_read_kernel(&handler, sizeof(handler), action) == 0 &&
	       handler == 0;
}

/* The init process of a PID namespace survives signals that it has no handler for. */
static __always_inline bool is_unkillable(void)
{
	const struct task_struct *task = (const void *)bpf_get_current_task_btf();
	const struct signal_struct *signal = BPF_CORE_READ(task, signal);

	return read_number(signal, flags) & SIGNAL_UNKILLABLE;
}

/* Does a signal with this action end the current process with a core dump, if one is wanted? */
static __noinline bool signal_is_fatal(__u32 number, const void *action)
{
	return number < 32 && (CORE_SIGNALS >> number & 1) && is_default_action(action) &&
	       !is_unkillable();
}

/* Appends what the kernel knows of a signal after n frames. Returns the cells that it takes. */
static __noinline __u32 sample_put_signal(struct walk *w, const void *siginfo, __u32 n)
{
	const struct pt_regs___task *regs =
		(const void *)bpf_task_pt_regs((void *)bpf_get_current_task_btf());
	__u64 sp = REGS_SP(regs);
	struct dp_crash *crash;

	n = port_opaque(n);
	if (n > DP_MAX_FRAMES + WALK_LABELS_CELLS + WALK_CALLS_CELLS)
		return 0;
	crash = (void *)&w->out.frames[n];
	crash->part = (struct dp_part){ DP_RECORD_CRASH, sizeof(*crash) };
	crash->zero = 0;
	bpf_probe_read_kernel(crash->siginfo, sizeof(crash->siginfo), siginfo);
	/* A failed read leaves zeros. */
	bpf_probe_read_user(&crash->stack_top, sizeof(crash->stack_top),
			    (const void *)DP_CALLER_RA(DP_FRAME_CFA(sp)));
	bpf_probe_read_user(&crash->in_front, sizeof(crash->in_front),
			    (const void *)(crash->stack_top - sizeof(crash->in_front)));
	w->out.sample.flags |= DP_SAMPLE_CRASH;
	return sizeof(*crash) / DP_CELL_SIZE;
}

#endif
