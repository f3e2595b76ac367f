/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_FORK_SPAN_BPF_H
#define DP_BPF_FORK_SPAN_BPF_H

/*
 * A new process whose stack is a copy of its parent's, or that of a parent that waits (vfork()), is in the calls
 * that are on it (spans.bpf.h). Included by dwarfprof.bpf.c.
 */

struct span_heir {
	const struct thread_spans *spans;
	__u64 from, to; /* PID and TID */
	__u64 sp;
};

static __always_inline bool span_is_inherited(const struct span_heir *heir,
					      const struct span_key *key)
{
	return key->cfa > heir->sp &&
	       span_is_own(key, (__u32)(heir->from >> 32), (__u32)heir->from);
}

static long span_inherit_step(__u32 i, void *ctx)
{
	const struct span_heir *heir = ctx;
	const struct span_key *key;

	if (!heir->spans)
		return 1;
	key = &heir->spans->keys[port_index(i, SPANS)];
	if (span_is_inherited(heir, key))
		span_own(key->cfa, heir->to, key->id);
	return 0;
}

/* The PID and TID of a task, as those of samples; 0: it has none in user space's namespace. */
static __always_inline __u64 pid_tgid_of(const struct task_struct *task)
{
	__u32 pid;

	if (dp_pid_namespace == 0)
		return (__u64)task->tgid << 32 | task->pid;
	pid = process_in_namespace(task);
	if (pid == 0)
		return 0;
	return (__u64)pid << 32 | number_in_namespace(BPF_CORE_READ(task, thread_pid));
}

/*
 * What the thread keeps of a call is also the new one's. A call that returns is not forgotten, so most that
 * fork outside of calls have some, too: those that are below the stack pointer are over.
 */
static __always_inline void spans_inherit(struct span_heir *heir)
{
	__u32 parent = heir->from >> 32, child = heir->to >> 32;
	const struct span_code *code = bpf_map_lookup_elem(&dp_span_code, &parent);
	__u64 highest = 0;

	heir->spans = bpf_map_lookup_elem(&dp_spans, &heir->from);
	if (!code || !heir->spans)
		return;
	for (__u32 i = 0; i < SPANS; i++) {
		__u64 cfa = heir->spans->keys[port_index(i, SPANS)].cfa;

		highest = cfa > highest ? cfa : highest;
	}
	if (highest <= heir->sp)
		return;
	bpf_map_update_elem(&dp_span_code, &child, code, BPF_ANY);
	bpf_map_update_elem(&dp_spans, &heir->to, heir->spans, BPF_ANY);
	bpf_loop(SPANS, span_inherit_step, heir, 0);
}

/*
 * TP_PROTO(struct task_struct *parent, struct task_struct *child). The child has its numbers and registers, and
 * has not run yet (kernel_clone(), kernel/fork.c).
 */
SEC("tp_btf/sched_process_fork")
int dp_fork_span(__u64 *ctx)
{
	struct task_struct *parent = (void *)bpf_get_current_task_btf(), *child = (void *)ctx[1];
	const struct pt_regs___task *before = (const void *)bpf_task_pt_regs(parent);
	const struct pt_regs___task *after = (const void *)bpf_task_pt_regs(child);
	struct span_heir heir = { .sp = REGS_SP(before) };

	/* Else it has a stack of its own. */
	if (REGS_SP(after) != heir.sp)
		return 0;
	/* How often and how long calls run is that of those that begin. */
	if (dp_has_slots ? spans_are_timed(0) != 0 : dp_has_span_times)
		return 0;
	heir.from = current_pid_tgid();
	heir.to = pid_tgid_of(child);
	if (heir.from != 0 && heir.to >> 32 != 0)
		spans_inherit(&heir);
	return 0;
}

#endif
