/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_TASK_BPF_H
#define DP_BPF_TASK_BPF_H

/* Properties of a task: its registers, numbers and state, and whether it has a user stack. */

#include <stdbool.h>

#include "bpf/abi.h"
#include "bpf/kernel.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/*
 * What the architecture defines about the registers of a task:
 *
 *   REGS_COPY(to, from)          copy them from a context or a struct pt_regs___task to a struct
 *                                dp_regs; returns the mode of the task
 *   REGS_SP(from)                their stack pointer
 *   REGS_ARGUMENT_1(from), _2, _3  a function's first arguments, where it begins
 *   REGS_RESULT(from)            its result, where it has returned
 *   regs_are_compat(mode)        is the mode that of 32-bit code?
 *   regs_in_syscall(regs)        may the task have entered the kernel by a system call?
 *   regs_behind_syscall(regs)    is the instruction in front of pc a system call?
 *   thread_base(task)            the base of thread-local storage
 */
#include DP_ARCH_TASK

/* include/linux/sched.h (PF_USER_WORKER since 6.4) */
#define PF_EXITING 0x00000004
#define PF_IO_WORKER 0x00000010
#define PF_USER_WORKER 0x00004000
#define PF_KTHREAD 0x00200000
/* include/linux/pid_namespace.h; include/linux/pid.h, enum pid_type */
#define MAX_PID_NS_LEVEL 32
#define PIDTYPE_TGID 1

/* include/linux/sched.h */
#define TASK_RUNNING 0x0000
#define TASK_UNINTERRUPTIBLE 0x0002
#define __TASK_STOPPED 0x0004
#define __TASK_TRACED 0x0008
#define TASK_PARKED 0x0040
#define TASK_DEAD 0x0080
#define TASK_NOLOAD 0x0400
#define TASK_RTLOCK_WAIT 0x1000
#define TASK_FROZEN 0x8000
#define TASK_IDLE (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)

/* The PID namespace whose numbers are used; 0: the initial one, which contains every task. */
const volatile __u32 dp_pid_namespace;

/*
 * True if the task is in an execve(): if its registers then lead nowhere, they belong to the old
 * program, and the memory to the new one.
 */
static __always_inline bool is_executing(const struct task_struct *task)
{
	return bpf_core_field_exists(task->in_execve) && BPF_CORE_READ_BITFIELD(task, in_execve);
}

/*
 * True if the stack is the parent's again: a child of vfork() wakes its parent a little before it
 * leaves the memory that both use (mm_release(), kernel/fork.c), in execve() or when it exits.
 */
static __always_inline bool has_returned_stack(const struct task_struct *task)
{
	if (!(task->flags & PF_EXITING) && !is_executing(task))
		return false;
	if (!bpf_core_field_exists(task->vfork_done) || BPF_CORE_READ(task, vfork_done))
		return false;
	return BPF_CORE_READ(task, real_parent, mm) == BPF_CORE_READ(task, mm);
}

/*
 * True if no user stack is behind the kernel's. A kernel thread or an exiting thread has no user
 * memory. A thread in the middle of an execve() has new memory, but the old program's registers:
 * start_code is set at the end, right before the registers (load_elf_binary(), fs/binfmt_elf.c). A
 * worker thread of a process, for io_uring or vhost, has memory but no user registers.
 *
 * Where speed permits, pointers of a task are read by a helper: for each other pointer, the
 * verifier searches the names of all types up to four times (btf_nested_type_is_trusted(),
 * kernel/bpf/btf.c, since 6.3), which takes a millisecond in all.
 */
static __always_inline bool has_no_user_stack(const struct task_struct *task)
{
	/* 0 also without memory. */
	return (task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) ||
	       BPF_CORE_READ(task, mm, start_code) == 0 || has_returned_stack(task);
}

/*
 * Reads through an untrusted pointer, in the kernel's width: libbpf adjusts loads, but not the size
 * that a helper is given.
 */
#define read_number(from, member) ((__u32)BPF_CORE_READ_BITFIELD_PROBED(from, member))

/*
 * The number of a process or thread in our namespace, which may be its own or an outer one; 0 if it
 * is in neither. bpf_get_ns_current_pid_tgid() knows only a task's own namespace. User space cannot
 * know the level of ours, because its /proc starts counting there. Usually it is 1, a container's.
 */
static __noinline __u32 number_in_namespace(const struct pid *pid)
{
	__u32 depth = read_number(pid, level);

	for (__u32 level = 1; level <= MAX_PID_NS_LEVEL && level <= depth; level++) {
		const struct upid *number = (const void *)((const char *)&pid->numbers +
							   level * bpf_core_type_size(struct upid));

		const struct pid_namespace *ns = BPF_CORE_READ(number, ns);

		if (read_number(ns, ns.inum) == dp_pid_namespace)
			return read_number(number, nr);
	}
	return 0;
}

static __always_inline __u32 process_in_namespace(const struct task_struct *task)
{
	return number_in_namespace(BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]));
}

/* PID and TID in the PID namespace of user space, if that is not the initial one; 0 for a task outside of it. */
static __always_inline __u64 pid_tgid_in_namespace(const struct task_struct *task)
{
	__u32 pid = process_in_namespace(task);

	if (pid == 0)
		return 0;
	return (__u64)pid << 32 | number_in_namespace(BPF_CORE_READ(task, thread_pid));
}

/* The state of a task that is not preempted, from the bits of its __state. */
static __always_inline enum dp_state state_of_bits(__u32 bits)
{
	if ((bits & TASK_IDLE) == TASK_IDLE)
		return DP_STATE_IDLE;
	if (bits & TASK_PARKED)
		return DP_STATE_PARKED;
	if (bits & __TASK_TRACED)
		return DP_STATE_TRACED;
	if (bits & __TASK_STOPPED)
		return DP_STATE_STOPPED;
	if (bits & (TASK_UNINTERRUPTIBLE | TASK_RTLOCK_WAIT | TASK_FROZEN))
		return DP_STATE_DISK_SLEEP;
	return DP_STATE_SLEEPING;
}

#endif
