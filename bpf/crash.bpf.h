/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_CRASH_BPF_H
#define DP_BPF_CRASH_BPF_H

/*
 * Crashes: the stack of a thread to which a signal is delivered that ends its process with a core
 * dump, whether or not one is written. Included by dwarfprof.bpf.c.
 *
 * The tracepoint is where get_signal(), kernel/signal.c, has found the signal's action and is about
 * to take it: a debugger has had its say, a handler of the program's own is known, and nothing has
 * ended yet. It has the same arguments in Linux 6.1 and 7.2. The function that dumps core has not
 * kept its name, and fentry needs the kernel's function tracer.
 *
 * All of this runs with interrupts off and the lock of the process's signal handlers held. That is
 * released before the process is ended: of threads that crash at the same time, each may be sampled.
 */

/* TP_PROTO(int sig, struct kernel_siginfo *info, struct k_sigaction *ka) */
SEC("tp_btf/signal_deliver")
int dp_crash(__u64 *ctx)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 pid_tgid;
	const __u32 *cell;
	struct scratch *s;

	if (!signal_is_fatal((__u32)ctx[0], (const void *)ctx[2]))
		return 0;
	pid_tgid = current_pid_tgid();
	if (!is_wanted(pid_tgid, &cell))
		return 0;
	s = scratch_claim(cpu);
	if (!s)
		return 0;
	sample_begin(s, pid_tgid, DP_EVENT_CRASH, 1, cpu);
	if (has_no_user_stack((const void *)bpf_get_current_task_btf()))
		s->walk.out.sample.outcome = DP_NO_USER_STACK;
	else
		sample_user_stack(s, cell, regs_of_task(&s->walk));
	if (!sample_output(s, false, (const void *)ctx[1]))
		count_loss(cpu, DP_LOST_FULL);
	scratch_release(s);
	return 0;
}

#endif
