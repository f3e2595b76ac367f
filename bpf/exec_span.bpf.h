/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_EXEC_SPAN_BPF_H
#define DP_BPF_EXEC_SPAN_BPF_H

/*
 * A process that executes a program is in no call any more (spans.bpf.h), though that may have its code and stack
 * where the last one had them. Included by dwarfprof.bpf.c.
 */

struct span_leaver {
	const struct thread_spans *spans;
};

static long span_leave_step(__u32 i, void *ctx)
{
	const struct span_leaver *leaver = ctx;
	const struct thread_spans *t = leaver->spans;

	if (!t)
		return 1;
	if (t->keys[port_index(i, SPANS)].cfa != 0)
		span_give_up(&t->keys[port_index(i, SPANS)], &t->of[port_index(i, SPANS)], true);
	return 0;
}

/*
 * The other threads have ended, and this one has the number of the first (de_thread(), fs/exec.c). What others
 * have kept is found by their numbers alone.
 */
SEC("tp_btf/sched_process_exec")
int dp_exec_span(__u64 *ctx)
{
	__u64 pid_tgid = current_pid_tgid();
	struct span_leaver leaver = { bpf_map_lookup_elem(&dp_spans, &pid_tgid) };
	__u32 pid = pid_tgid >> 32;

	(void)ctx;
	if (dp_has_span_times)
		bpf_loop(SPANS, span_leave_step, &leaver, 0);
	thread_spans_drop(&pid_tgid);
	span_code_drop(&pid);
	return 0;
}

#endif
