/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_KERNEL_FIELDS_H
#define DP_BPF_KERNEL_FIELDS_H

/*
 * Every member of kernel types that the programs use, and the effect on a kernel without it: the
 * programs that need it are refused, or something is lost. A test compares this list with the
 * compiled programs, and removes each member in turn.
 */

#include "bpf/arch.h"
#include DP_ARCH_KERNEL_FIELDS

/*
 * What members are needed for, as bits.
 *
 * X(enumerator, what a user asks for)
 */
#define DP_FIELD_USES(X)                                                                           \
	X(CPU, "CPU time")                                                                         \
	X(UPROBE, "-e uprobe:")                                                                    \
	X(TRACE, "-e tracepoint:")                                                                 \
	X(OFF_CPU, "--off-cpu, --wall")                                                            \
	X(CRASH, "--crashes")                                                                      \
	X(DUMP, "dump")                                                                            \
	X(USER, "-u")                                                                              \
	X(PEER, "--probe-socket")                                                                  \
	X(CONTAINER, "anything, in a PID namespace of its own")

#define X(name, what) DP_FIELD_USE_##name,
enum dp_field_use { DP_FIELD_USES(X) DP_N_FIELD_USES };
#undef X

#define X(name, what) DP_FOR_##name = 1 << DP_FIELD_USE_##name,
enum dp_field_for {
	DP_FIELD_USES(X) DP_FOR_HITS = DP_FOR_UPROBE | DP_FOR_TRACE,
	DP_FOR_SAMPLES = DP_FOR_CPU | DP_FOR_HITS | DP_FOR_OFF_CPU | DP_FOR_CRASH,
	DP_FOR_ALL = DP_FOR_SAMPLES | DP_FOR_DUMP,
	DP_FOR_SWITCHES = DP_FOR_OFF_CPU | DP_FOR_DUMP,
	/* a uprobe hits user code */
	DP_FOR_TASKS = DP_FOR_CPU | DP_FOR_TRACE | DP_FOR_CRASH | DP_FOR_SWITCHES,
	DP_FOR_USERS = DP_FOR_USER | DP_FOR_PEER,
	DP_FOR_NOTHING = 0,
};
#undef X

/* X(type, member, what needs it, what is lost without it if that still works, else NULL) */
#define DP_KERNEL_FIELDS(X)                                                                        \
	X(task_struct, __state, DP_FOR_SWITCHES, NULL)                                             \
	X(task_struct, comm, DP_FOR_ALL, NULL)                                                     \
	X(task_struct, exit_state, DP_FOR_DUMP, NULL)                                              \
	X(task_struct, flags, DP_FOR_TASKS, NULL)                                                  \
	X(task_struct, group_leader, DP_FOR_ALL, NULL)                                             \
	X(task_struct, in_execve, DP_FOR_NOTHING, "why samples amid an execve() have no stack")    \
	X(task_struct, mm, DP_FOR_ALL, NULL)                                                       \
	X(task_struct, nivcsw, DP_FOR_DUMP, NULL)                                                  \
	X(task_struct, nvcsw, DP_FOR_DUMP, NULL)                                                   \
	X(task_struct, on_cpu, DP_FOR_NOTHING, "dump: kernel stacks, threads that wait for a CPU") \
	X(task_struct, pid, DP_FOR_ALL, NULL)                                                      \
	X(task_struct, real_cred, DP_FOR_USERS, NULL)                                              \
	X(task_struct, real_parent, DP_FOR_ALL, NULL)                                              \
	X(task_struct, sas_ss_size, DP_FOR_SAMPLES, NULL)                                          \
	X(task_struct, sas_ss_sp, DP_FOR_SAMPLES, NULL)                                            \
	X(task_struct, se, DP_FOR_SWITCHES, NULL)                                                  \
	X(task_struct, signal, DP_FOR_CONTAINER | DP_FOR_CRASH, NULL)                              \
	X(task_struct, tgid, DP_FOR_ALL, NULL)                                                     \
	X(task_struct, thread, DP_FOR_ALL, NULL)                                                   \
	X(task_struct, thread_info, DP_FOR_DUMP, NULL)                                             \
	X(task_struct, thread_pid, DP_FOR_CONTAINER, NULL)                                         \
	X(task_struct, vfork_done, DP_FOR_NOTHING, "whose stack a child of vfork() is leaving")    \
	X(task_struct, utask, DP_FOR_NOTHING, DP_LOST_URETPROBES)                                  \
	X(thread_info, cpu, DP_FOR_DUMP, NULL)                                                     \
	X(thread_info, flags, DP_FOR_NOTHING, DP_LOST_BREAKPOINTS)                                 \
	X(sched_entity, sum_exec_runtime, DP_FOR_SWITCHES, NULL)                                   \
	X(mm_struct, start_code, DP_FOR_TASKS, NULL)                                               \
	X(mm_struct, start_stack, DP_FOR_SAMPLES, NULL)                                            \
	X(mm_struct, flags, DP_FOR_NOTHING, "probes that others than root add")                    \
	X(mm_struct, uprobes_state, DP_FOR_NOTHING, DP_LOST_URETPROBES)                            \
	X(uprobes_state, xol_area, DP_FOR_NOTHING, DP_LOST_URETPROBES)                             \
	X(xol_area, vaddr, DP_FOR_NOTHING, DP_LOST_URETPROBES)                                     \
	X(uprobe_task, return_instances, DP_FOR_NOTHING, DP_LOST_URETPROBES)                       \
	X(uprobe_task, vaddr, DP_FOR_NOTHING, DP_LOST_BREAKPOINTS)                                 \
	X(uprobe_task, xol_vaddr, DP_FOR_NOTHING, DP_LOST_BREAKPOINTS)                             \
	X(return_instance, next, DP_FOR_NOTHING, DP_LOST_URETPROBES)                               \
	X(return_instance, orig_ret_vaddr, DP_FOR_NOTHING, DP_LOST_URETPROBES)                     \
	X(return_instance, stack, DP_FOR_NOTHING, DP_LOST_URETPROBES)                              \
	X(cred, uid, DP_FOR_PEER, NULL)                                                            \
	X(cred, suid, DP_FOR_PEER, NULL)                                                           \
	X(cred, euid, DP_FOR_USERS, NULL)                                                          \
	X(cred, gid, DP_FOR_PEER, NULL)                                                            \
	X(cred, sgid, DP_FOR_PEER, NULL)                                                           \
	X(cred, egid, DP_FOR_PEER, NULL)                                                           \
	X(cred, cap_permitted, DP_FOR_PEER, NULL)                                                  \
	X(kuid_t, val, DP_FOR_USERS, NULL)                                                         \
	X(kgid_t, val, DP_FOR_PEER, NULL)                                                          \
	X(signal_struct, flags, DP_FOR_CRASH, NULL)                                                \
	X(signal_struct, pids, DP_FOR_CONTAINER, NULL)                                             \
	X(pid, level, DP_FOR_CONTAINER, NULL)                                                      \
	X(pid, numbers, DP_FOR_CONTAINER, NULL)                                                    \
	X(upid, nr, DP_FOR_CONTAINER, NULL)                                                        \
	X(upid, ns, DP_FOR_CONTAINER, NULL)                                                        \
	X(pid_namespace, ns, DP_FOR_CONTAINER, NULL)                                               \
	X(ns_common, inum, DP_FOR_CONTAINER, NULL)                                                 \
	DP_ARCH_FIELDS(X)                                                                          \
	X(bpf_iter__task, meta, DP_FOR_DUMP, NULL)                                                 \
	X(bpf_iter__task, task, DP_FOR_DUMP, NULL)                                                 \
	X(bpf_iter_meta, seq, DP_FOR_DUMP, NULL)

#define DP_LOST_URETPROBES "stacks beyond a function with a uretprobe"
#define DP_LOST_BREAKPOINTS "stacks at a uprobe's instruction"

#endif
