/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_REGISTERS_BPF_H
#define DP_BPF_REGISTERS_BPF_H

/* The user registers of the current task, from which a walk begins. */

#include "bpf/breakpoint.h"
#include "bpf/task.bpf.h"
#include "bpf/walk.h"

/* Constant of the loaded program, as the options are: uprobes are set, or may be later. */
const volatile bool dp_has_uprobes;

static __always_inline void breakpoint_read_copy(const struct task_struct *task,
						 struct breakpoint *ret)
{
	const struct uprobe_task *utask = NULL;

	if (!bpf_core_field_exists(task->utask) || !bpf_core_field_exists(utask->xol_vaddr) ||
	    !bpf_core_field_exists(utask->vaddr) || !task->utask)
		return;
	ret->copy = BPF_CORE_READ(task, utask, xol_vaddr);
	ret->original = BPF_CORE_READ(task, utask, vaddr);
}

/*
 * A flag tells until the thread is about to return to user mode. While the kernel then looks for the
 * uprobe, only the stack tells: what the kernel emulates, it emulates last.
 */
static __always_inline bool breakpoint_is_ahead(const struct task_struct *task,
						const struct dp_regs *regs)
{
	__u64 pc = regs->reg[DP_REG_PC], top = 0;
	__u8 code = 0;

	bpf_probe_read_user(&code, sizeof(code), (const void *)(pc - sizeof(code)));
	if (code != DP_BREAKPOINT_CODE)
		return false;
	if (bpf_core_field_exists(task->thread_info.flags) &&
	    task->thread_info.flags & DP_BREAKPOINT_FLAGS)
		return true;
	return !breakpoint_may_be_gap(pc) &&
	       bpf_probe_read_user(&top, sizeof(top), (const void *)regs->reg[DP_REG_SP]) == 0 &&
	       !breakpoint_has_pushed(regs, top);
}

/* Corrects pc in w->in.regs, which are those of the current task, and may be behind a breakpoint. */
PORT_GLOBAL int breakpoint_correct(struct walk *w, __u32 may_be_behind)
{
	const struct task_struct *task = (const void *)bpf_get_current_task_btf();
	struct breakpoint b = { 0 };

	if (!w)
		return 0;
	breakpoint_read_copy(task, &b);
	b.is_ahead = may_be_behind && breakpoint_is_ahead(task, &w->in.regs);
	w->in.regs.reg[DP_REG_PC] = breakpoint_pc(&b, w->in.regs.reg[DP_REG_PC]);
	return 0;
}

/*
 * Reads the user registers of the current task, which is in the kernel. Returns its mode, as
 * REGS_COPY().
 *
 * Also checks whether the program counter is behind a system call instruction, by reading it:
 * execve() and signal delivery set a new program counter.
 */
PORT_GLOBAL int regs_of_task(struct walk *w)
{
	const struct pt_regs___task *regs =
		(const void *)bpf_task_pt_regs((void *)bpf_get_current_task_btf());
	int mode;

	if (!w)
		return 0;
	w->in.in_syscall = regs_behind_syscall(regs);
	mode = REGS_COPY(&w->in.regs, regs);
	if (dp_has_uprobes)
		breakpoint_correct(w, !regs_in_syscall(regs));
	return mode;
}

/* Reads the registers of user mode, which the event has interrupted. Returns the mode. */
static __always_inline int regs_of_event(struct walk *w, const struct bpf_perf_event_data *ctx)
{
	int mode = REGS_COPY(&w->in.regs, &ctx->regs);

	if (dp_has_uprobes)
		breakpoint_correct(w, false);
	return mode;
}

#endif
