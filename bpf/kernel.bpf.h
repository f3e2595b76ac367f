/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_KERNEL_BPF_H
#define DP_BPF_KERNEL_BPF_H

/*
 * The few kernel types that are read, with the few members that are needed.
 * libbpf finds the members' real places in the running kernel's own type
 * information (CO-RE), so that the build needs no vmlinux.h.
 */

#include <linux/bpf.h>

#define DP_CORE __attribute__((preserve_access_index))

struct mm_struct {
	unsigned long start_code;
	unsigned long start_stack;
} DP_CORE;

struct thread_struct {
	unsigned long fsbase;
} DP_CORE;

struct ns_common {
	unsigned int inum;
} DP_CORE;

struct pid_namespace {
	struct ns_common ns;
} DP_CORE;

/* The number of a process or thread in one namespace. */
struct upid {
	int nr;
	struct pid_namespace *ns;
} DP_CORE;

/* Its numbers in all namespaces that it is in, from the initial one's, level 0, to its own's. */
struct pid {
	unsigned int level;
	struct upid numbers[1];
} DP_CORE;

struct signal_struct {
	struct pid *pids[4]; /* by enum pid_type */
} DP_CORE;

struct task_struct {
	unsigned int flags;
	struct mm_struct *mm;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	int pid, tgid;
	struct pid *thread_pid;
	struct signal_struct *signal;
	unsigned long sas_ss_sp, sas_ss_size;
	struct thread_struct thread;
	unsigned int in_execve : 1;
	char comm[16];
} DP_CORE;

/*
 * The context of perf_event and uprobe programs, arch/x86/include/uapi/asm/ptrace.h:
 * an interface of the kernel, so its layout needs no look-up, and a context may
 * only be read by whole words.
 */
struct pt_regs {
	unsigned long r15, r14, r13, r12;
	unsigned long bp, bx;
	unsigned long r11, r10, r9, r8;
	unsigned long ax, cx, dx, si, di;
	unsigned long orig_ax;
	unsigned long ip, cs, flags, sp, ss;
};

/* The same registers reached from a task, where the kernel knows each member's type. */
struct pt_regs___task {
	unsigned long r15, r14, r13, r12;
	unsigned long bp, bx;
	unsigned long r11, r10, r9, r8;
	unsigned long ax, cx, dx, si, di;
	unsigned long orig_ax;
	unsigned long ip, cs, sp;
} DP_CORE;

/* include/uapi/linux/bpf_perf_event.h */
struct bpf_perf_event_data {
	struct pt_regs regs;
	__u64 sample_period;
	__u64 addr;
};

#endif
