/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_PERMISSION_H
#define DP_KERNEL_PERMISSION_H

#include <stdbool.h>

struct refusal;

/*
 * What this process is allowed to do, and messages that say what it lacks. Capability numbers are
 * those of <linux/capability.h>.
 */

/* Is the capability in the effective set? */
bool permission_has(int capability);
/* Does the set have the capabilities that loading programs takes? */
bool permission_may_load(void);

/*
 * Explains why libbpf could not load the BPF programs: what the kernel or the user lacks. Returns
 * -EPERM for a permission, -ENOMEM, or -EOPNOTSUPP. refusal: what libbpf logged meanwhile. btf: the
 * file with the kernel's types that the user named, or NULL.
 */
int permission_explain_bpf(int err, const struct refusal *refusal, const char *btf);

/* Is the rate above kernel.perf_event_max_sample_rate? */
bool permission_rate_is_too_high(unsigned int hz);

/*
 * Explain why a perf event or a uprobe could not be opened. hz: its sampling rate, or 0 if it was
 * not a sampling event.
 */
void permission_explain_perf(const char *what, int err, unsigned int hz);
void permission_explain_uprobe(int err);

/* Explains why a tracepoint or function of the kernel cannot be sampled. */
void permission_explain_trace(const char *what, int err);

/* Warns that the kernel hides its addresses: what that costs, and how to show them. */
void permission_explain_kernel(void);

/* Warns that a file mapped by a process cannot be read. The message covers later files too. */
void permission_explain_file(int pid, const char *name);

/* Explain why a process could not be inspected, or its memory not be read. */
void permission_explain_process(int pid, int err);
void permission_explain_memory(int pid, int err);

#endif
