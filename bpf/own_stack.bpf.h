/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_OWN_STACK_BPF_H
#define DP_BPF_OWN_STACK_BPF_H

#include <stdbool.h>

#include "bpf/kernel.bpf.h"

#include <bpf/bpf_helpers.h>

/*
 * Always false. The verifier knows that, the compiler does not, so the verifier removes the code.
 */
const volatile bool dp_never;

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} dp_no_programs SEC(".maps");

/*
 * Every program that may be preempted calls this; its variables are on the thread's stack.
 *
 * Since Linux 6.13 a program may get a private stack per CPU (bpf_enable_priv_stack(),
 * kernel/bpf/verifier.c), shared with a thread that preempts it and runs the same program. That
 * would overwrite the tid of the sample. Programs with a tail call get none.
 */
static __always_inline void keep_to_own_stack(void *ctx)
{
	if (dp_never)
		bpf_tail_call(ctx, &dp_no_programs, 0);
}

#endif
