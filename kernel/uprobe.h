/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_UPROBE_H
#define DP_KERNEL_UPROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct uprobe_places;

/*
 * A BPF program at the entries of functions, in processes that map their file: since Linux 6.6
 * by a link (uprobe_multi) with CAP_BPF and CAP_PERFMON, before by a perf event with CAP_SYS_ADMIN
 * (perf_uprobe_event_init(), kernel/events/core.c).
 */

/* The expected attach type of a program for uprobe_attach_multi(); set it before loading. */
#define UPROBE_MULTI 48

/* Does the kernel have this link type? Tries it: 1, 0, or -EPERM if that is not permitted. */
int uprobe_multi_works(void);

/*
 * Can such a link be limited to a process? In Linux 6.6 to 6.9 it is limited to one thread, unless an update has
 * "bpf: fix multi-uprobe PID filtering logic". Tries it. Only that process, and those that it forks later, have the
 * breakpoint, in all their threads.
 */
bool uprobe_multi_knows_processes(void);

/*
 * Attaches a program, in a process, or (0) in all. Returns the link's descriptor, or a negative errno:
 * -ESRCH: there is no such process. Closing it detaches.
 */
int uprobe_attach_multi(int program, const struct uprobe_places *places, pid_t pid);

/* The same for one of the places, by a perf event: of a program without that type. */
int uprobe_attach_one(int program, const struct uprobe_places *places, size_t i, pid_t pid);

#endif
