/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_PERMISSION_H
#define DP_KERNEL_PERMISSION_H

#include <stdbool.h>

struct refusal;

/*
 * What this process may do, and how to tell a person what it would need.
 * Numbers of capabilities are those of <linux/capability.h>.
 */

/* Is the capability in the effective set? */
bool permission_has(int capability);

/*
 * The BPF programs could not be loaded, with libbpf's error: say what the kernel
 * or the user lacks. -EPERM if it is a permission, -ENOMEM, else -EOPNOTSUPP.
 * refusal: what was heard meanwhile; btf: a file with the kernel's types, if one was named.
 */
int permission_explain_bpf(int err, const struct refusal *refusal, const char *btf);

/*
 * A perf event, or a uprobe, could not be opened: say what is lacking. hz: how often it was to
 * sample, 0: it was not.
 */
void permission_explain_perf(const char *what, int err, unsigned int hz);
void permission_explain_uprobe(int err);

/* The kernel hides its addresses: warn of what is missing for that, and say what shows them. */
void permission_explain_kernel(void);

/* A file that a process has mapped may not be read: warn, for this one and those that follow. */
void permission_explain_file(int pid, const char *name);

/* A process could not be looked into; its memory could not be read. */
void permission_explain_process(int pid, int err);
void permission_explain_memory(int pid, int err);

#endif
