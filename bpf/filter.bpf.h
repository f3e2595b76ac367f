/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_FILTER_BPF_H
#define DP_BPF_FILTER_BPF_H

/*
 * Selects which tasks are sampled: by CPU, cgroup, user, name, or thread. Filters are constants of
 * the loaded program. The verifier removes unused ones, and their maps are not created.
 */

#include <stdbool.h>

#include "bpf/abi.h"
#include "bpf/kernel.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

const volatile bool dp_by_cpu;
const volatile bool dp_by_cgroup;
const volatile bool dp_by_user;
const volatile bool dp_by_comm;
const volatile bool dp_by_thread;

const volatile __u64 dp_cpus[DP_MAX_CPUS / 64]; /* a bit for each wanted CPU */
const volatile __u32 dp_user;

/* The cgroup is the only element. */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} dp_cgroup SEC(".maps");

/*
 * Names of rejected processes, with all bytes as in the kernel. A name that is not in the map is
 * sampled. User space matches it against the regular expression, and adds it if it does not match.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, char[DP_COMM_SIZE]);
	__type(value, __u8);
} dp_other_comms SEC(".maps");

/* The wanted threads. User space sets max_entries. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} dp_threads SEC(".maps");

static __always_inline bool is_cpu_wanted(__u32 cpu)
{
	return dp_cpus[cpu / 64 % (DP_MAX_CPUS / 64)] >> (cpu % 64) & 1;
}

static __always_inline bool is_user_wanted(void)
{
	const struct task_struct *task = (const void *)bpf_get_current_task_btf();

	return task->real_cred->euid.val == dp_user;
}

static __always_inline bool is_comm_wanted(void)
{
	const struct task_struct *task = (const void *)bpf_get_current_task_btf();
	const struct task_struct *leader = task->group_leader;
	char comm[DP_COMM_SIZE] = "";

	bpf_core_read(comm, sizeof(comm), &leader->comm);
	return !bpf_map_lookup_elem(&dp_other_comms, comm);
}

static __always_inline bool passes_cpu_filter(void)
{
	return !dp_by_cpu || is_cpu_wanted(bpf_get_smp_processor_id());
}

/*
 * True if the current task passes all filters but that of CPUs, cheapest first.
 *
 * The user is the one that /proc and ps show: real_cred. The kernel may replace cred during a
 * system call, and bpf_get_current_uid_gid() returns an id in the task's own user namespace.
 */
static __always_inline bool passes_filters(__u32 tid)
{
	if (dp_by_user && !is_user_wanted())
		return false;
	if (dp_by_thread && !bpf_map_lookup_elem(&dp_threads, &tid))
		return false;
	if (dp_by_cgroup && bpf_current_task_under_cgroup(&dp_cgroup, 0) != 1)
		return false;
	return !dp_by_comm || is_comm_wanted();
}

#endif
