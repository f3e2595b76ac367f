// SPDX-License-Identifier: GPL-2.0-only
/*
 * The threads of a process, for `dwarfprof dump`: their states, and their user registers from when
 * they entered the kernel. Nothing is stopped or waits; a second reading shows whether a thread has
 * moved meanwhile.
 */
#include <asm/errno.h>
#include <stdbool.h>

#include "bpf/abi.h"
#include "bpf/kernel.bpf.h"
#include "bpf/task.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Options, as in dwarfprof.bpf.c. */
const volatile bool dp_kernel_stacks;
/* Leave out kernel stacks: the user may not see kernel addresses. */
const volatile bool dp_kernel_hidden;

/* The wanted process; since 6.1 the iterator visits only its threads. 0: the kernel's threads. */
__u32 dp_wanted_process;
__u32 dp_wanted_thread; /* 0: all of these */

/* A thread and its kernel stack before they are written; there is only one reader. */
struct dump_scratch {
	struct dp_thread thread;
	__u64 kernel[DP_MAX_KERNEL_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct dump_scratch);
} dump_scratch SEC(".maps");

DP_ASSERT(__builtin_offsetof(struct dump_scratch, kernel) == sizeof(struct dp_thread),
	  "the addresses follow the thread, so that one write has both");

/*
 * If the kernel does not say which tasks are on a CPU, every task that may be is taken to be: one
 * that runs in user mode, whose registers change, is runnable. A task about to sleep may still be
 * on a CPU, but it is in the kernel, and its user registers do not change; its kernel stack does.
 */
static __always_inline bool is_on_cpu(const struct task_struct *task)
{
	if (bpf_core_field_exists(task->on_cpu))
		return task->on_cpu;
	return task->__state == TASK_RUNNING;
}

static __always_inline enum dp_state state_of_task(const struct task_struct *task)
{
	__u32 bits = task->__state;

	/* A task that was running does not count as asleep before it has left its CPU. */
	if (bits == TASK_RUNNING || is_on_cpu(task))
		return DP_STATE_RUNNABLE;
	return state_of_bits(bits);
}

static __always_inline void read_regs(struct dp_thread *t, struct task_struct *task)
{
	const struct pt_regs___task *regs = (const void *)bpf_task_pt_regs(task);

	if (has_no_user_stack(task)) {
		t->flags |= DP_THREAD_NO_USER;
		return;
	}
	t->thread_base = thread_base(task);
	if (regs_are_compat(REGS_COPY(&t->regs, regs)))
		t->flags |= DP_THREAD_COMPAT;
	if (regs_in_syscall(regs))
		t->flags |= DP_THREAD_IN_SYSCALL;
}

/* A task on a CPU has no kernel stack that stays unchanged. */
static __always_inline void read_kernel_stack(struct dump_scratch *s, struct task_struct *task)
{
	long size;

	if (!dp_kernel_stacks || is_on_cpu(task))
		return;
	if (dp_kernel_hidden) {
		s->thread.kernel_error = DP_KERNEL_HIDDEN;
		return;
	}
	if (!bpf_core_field_exists(task->on_cpu)) {
		s->thread.kernel_error = -EOPNOTSUPP;
		return;
	}
	size = bpf_get_task_stack(task, s->kernel, sizeof(s->kernel), 0);
	if (size < 0)
		s->thread.kernel_error = (__s16)size;
	else
		s->thread.n_kernel = (__u16)(size / sizeof(__u64));
}

SEC("iter/task")
int dp_dump(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	const struct task_struct *leader;
	struct dump_scratch *s;
	__u32 pid, tid, n, key = 0;

	/* A task that has exited has no stack. */
	if (!task || task->exit_state)
		return 0;
	if (dp_pid_namespace == 0) {
		pid = task->tgid;
		tid = task->pid;
	} else {
		pid = process_in_namespace(task);
		tid = number_in_namespace(BPF_CORE_READ(task, thread_pid));
	}
	if (pid == 0 || (dp_wanted_thread && tid != dp_wanted_thread))
		return 0;
	if (dp_wanted_process ? pid != dp_wanted_process : !(task->flags & PF_KTHREAD))
		return 0;
	s = bpf_map_lookup_elem(&dump_scratch, &key);
	if (!s)
		return 0;
	__builtin_memset(&s->thread, 0, sizeof(s->thread));
	s->thread.pid = pid;
	s->thread.tid = tid;
	s->thread.kernel_tid = task->pid;
	s->thread.switches = task->nvcsw + task->nivcsw;
	s->thread.ran_ns = task->se.sum_exec_runtime;
	s->thread.cpu = task->thread_info.cpu;
	s->thread.state = state_of_task(task);
	bpf_core_read(s->thread.thread_name, sizeof(s->thread.thread_name), &task->comm);
	leader = task->group_leader;
	bpf_core_read(s->thread.comm, sizeof(s->thread.comm), &leader->comm);
	read_regs(&s->thread, task);
	read_kernel_stack(s, task);
	/* At the end: this detects a task that came to a CPU before its stack was read. */
	if (is_on_cpu(task))
		s->thread.flags |= DP_THREAD_ON_CPU;
	n = s->thread.n_kernel;
	if (n <= DP_MAX_KERNEL_FRAMES)
		bpf_seq_write(ctx->meta->seq, s, sizeof(s->thread) + n * sizeof(__u64));
	return 0;
}
