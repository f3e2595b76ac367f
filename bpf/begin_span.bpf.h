/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_BEGIN_SPAN_BPF_H
#define DP_BPF_BEGIN_SPAN_BPF_H

/* Where a call begins that labels samples (spans.bpf.h). Included by dwarfprof.bpf.c. */

SEC("uprobe")
int dp_begin_span(struct pt_regs *ctx)
{
	__u64 pid_tgid = current_pid_tgid();
	const __u32 *cell;

	keep_to_own_stack(ctx);
	if (is_wanted(pid_tgid, &cell))
		span_begin(ctx, pid_tgid);
	return 0;
}

#endif
