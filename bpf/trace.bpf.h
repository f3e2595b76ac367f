/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_TRACE_BPF_H
#define DP_BPF_TRACE_BPF_H

/*
 * Events of the kernel: tracepoints and functions. Included by dwarfprof.bpf.c, after off_cpu.bpf.h.
 *
 * User space chooses the program's type before it is loaded, by where it is attached (tracer.h).
 * The context differs then, but only helpers see what it is.
 *
 * The kernel never runs it twice at a time on a CPU, be it interrupted or preempted, and counts
 * what it leaves out (recursion_misses of struct bpf_prog_info). So it needs one level, and no
 * keep_to_own_stack(). Before Linux 6.1, an interrupt's tracepoint by its name alone may come
 * between; then the level is in use, and the hit lost.
 */
SEC("raw_tp")
int dp_sample_trace(void *ctx)
{
	__u64 pid_tgid = current_pid_tgid();
	const __u32 *cell;
	struct scratch *s;
	__u32 weight, cpu;

	if (!is_wanted(pid_tgid, &cell) || pid_tgid >> 32 == dp_own_pid)
		return 0;
	weight = rate_weight(pid_tgid >> 32, DP_EVENT_TRACE);
	if (weight == 0)
		return 0;
	cpu = bpf_get_smp_processor_id();
	s = scratch_claim(cpu);
	if (!s)
		return 0;
	sample_begin(s, pid_tgid, DP_EVENT_TRACE, weight, cpu);
	s->max_chunks = OFF_CPU_MAX_CHUNKS; /* the run queue may be locked here, too */
	if (dp_has_several)
		s->walk.out.sample.state = (__u8)bpf_get_attach_cookie(ctx);
	if (dp_has_values)
		fields_read(ctx, scratch_key(s), s->walk.out.sample.state);
	if (dp_sides == DP_SIDES_KERNEL)
		s->walk.out.sample.outcome = DP_KERNEL_ONLY;
	else if (has_no_user_stack((const void *)bpf_get_current_task_btf()))
		s->walk.out.sample.outcome = DP_NO_USER_STACK;
	else
		sample_user_stack(s, cell, regs_of_task(&s->walk));
	sample_kernel_stack(&s->walk, ctx);
	/* With user stacks only, a sample without one is dropped. */
	if ((dp_sides != DP_SIDES_USER || s->walk.out.sample.outcome != DP_NO_USER_STACK) &&
	    !sample_output(s, true, NULL))
		count_loss(s->walk.out.sample.cpu, DP_LOST_FULL);
	scratch_release(s);
	return 0;
}

#endif
