/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOADER_PERMISSION_H
#define DP_LOADER_PERMISSION_H

#include <stdbool.h>

/*
 * What this process may do, and how to tell a person what it would need.
 * Numbers of capabilities are those of <linux/capability.h>.
 */

/* Is the capability in the effective set? */
bool permission_has(int capability);

/*
 * The BPF programs could not be loaded, with libbpf's error: say what the kernel
 * or the user lacks. -EPERM if it is a permission, -ENOMEM, else -EOPNOTSUPP.
 */
int permission_explain_bpf(int err);

/* A perf event, or a uprobe (libbpf's errors), could not be opened: say what is lacking. */
void permission_explain_perf(const char *what, int err);
void permission_explain_uprobe(const char *path, const char *symbol, int err);

/* A process could not be looked into. */
void permission_explain_process(int pid, int err);

#endif
