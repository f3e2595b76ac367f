/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_NAMES_BPF_H
#define DP_BPF_NAMES_BPF_H

/* The names of the sampled task, and its cgroup. */

#include "bpf/kernel.bpf.h"
#include "bpf/walk_state.h"

#include <bpf/bpf_helpers.h>

const volatile bool dp_has_cgroups; /* kernels without cgroups lack the helper */

/* Word by word, which is faster than calling a helper. */
static __always_inline void name_read(char *name, const struct task_struct *task)
{
	const __u64 *comm = (const void *)task->comm;

	for (__u32 i = 0; i < DP_COMM_SIZE / sizeof(*comm); i++)
		((__u64 *)name)[i] = comm[i];
}

static __always_inline void names_read(struct walk *w)
{
	const struct task_struct *task = (const void *)bpf_get_current_task_btf();

	w->out.names.part = (struct dp_part){ DP_RECORD_NAMES, sizeof(w->out.names) };
	name_read(w->out.names.comm, task->group_leader);
	name_read(w->out.names.thread_name, task);
	w->out.names.cgroup = dp_has_cgroups ? bpf_get_current_cgroup_id() : 0;
}

/* Both names and the cgroup as words, for a fast comparison. */
#define NAMES_WORDS (2 * DP_COMM_SIZE / sizeof(__u64) + 1)

static __always_inline __u64 name_word(const struct walk *w, __u32 i)
{
	return port_u64(w->out.names.comm + i * sizeof(__u64));
}

#endif
