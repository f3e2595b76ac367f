/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_KERNEL_BPF_H
#define DP_BPF_KERNEL_BPF_H

/*
 * The kernel types that the programs read, with only the members needed. libbpf relocates the
 * members by the running kernel's type information (CO-RE), so the build needs no vmlinux.h.
 *
 * Numbers are unsigned even where the kernel's are not: libbpf adjusts the width of loads for
 * unsigned members only (bpf_core_patch_insn(), libbpf's relo_core.c), which on_cpu needs on 7.2.
 */

#include <linux/bpf.h>

#define DP_CORE __attribute__((preserve_access_index))

/* struct pt_regs, struct pt_regs___task, struct thread_struct */
#include "bpf/arch.h"
#include DP_ARCH_KERNEL

/* kernel/events/uprobes.c: the page of instructions that probes execute out of line */
struct xol_area {
	unsigned long vaddr;
} DP_CORE;

struct uprobes_state {
	struct xol_area *xol_area;
} DP_CORE;

struct mm_struct {
	unsigned long start_code;
	unsigned long start_stack;
	unsigned long flags; /* up to 6.17 */
	struct uprobes_state uprobes_state;
} DP_CORE;

struct mm_struct___bits {
	struct {
		unsigned long bits[1];
	} flags;
} DP_CORE;

/*
 * A function that will return to a uretprobe: where its return address is, and its original value.
 */
struct return_instance {
	unsigned long stack;
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
} DP_CORE;

struct uprobe_task {
	struct return_instance *return_instances;
	unsigned long xol_vaddr; /* where the thread executes an instruction that is */
	unsigned long vaddr;     /* here */
} DP_CORE;

struct ns_common {
	unsigned int inum;
} DP_CORE;

struct pid_namespace {
	struct ns_common ns;
} DP_CORE;

/* The number of a process or thread in one namespace. */
struct upid {
	unsigned int nr;
	struct pid_namespace *ns;
} DP_CORE;

/* Its numbers in all namespaces that it is in, from the initial one (level 0) to its own. */
struct pid {
	unsigned int level;
	struct upid numbers[1];
} DP_CORE;

struct signal_struct {
	unsigned int flags;
	struct pid *pids[4]; /* by enum pid_type */
} DP_CORE;

typedef struct {
	unsigned int val;
} DP_CORE kuid_t;

typedef struct {
	unsigned int val;
} DP_CORE kgid_t;

/* 64 bits, before 6.3 as two words */
typedef struct {
} DP_CORE kernel_cap_t;

struct cred {
	kuid_t uid, suid, euid;
	kgid_t gid, sgid, egid;
	kernel_cap_t cap_permitted;
} DP_CORE;

struct sched_entity {
	unsigned long long sum_exec_runtime;
} DP_CORE;

struct thread_info {
	unsigned long flags;
	__u32 cpu;
} DP_CORE;

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	unsigned int on_cpu; /* with CONFIG_SMP */
	unsigned int exit_state;
	unsigned long nvcsw, nivcsw;
	struct mm_struct *mm;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	unsigned int pid, tgid;
	struct pid *thread_pid;
	struct signal_struct *signal;
	const struct cred *real_cred;
	unsigned long sas_ss_sp, sas_ss_size;
	struct sched_entity se;
	struct thread_struct thread;
	unsigned int in_execve : 1;
	struct completion *vfork_done;
	struct uprobe_task *utask;
	char comm[16];
} DP_CORE;

/* The context of task iterators, kernel/bpf/task_iter.c */
struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} DP_CORE;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} DP_CORE;

/* include/uapi/linux/bpf_perf_event.h */
struct bpf_perf_event_data {
	struct pt_regs regs;
	__u64 sample_period;
	__u64 addr;
};

#endif
