/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_UPROBE_H
#define DP_KERNEL_UPROBE_H

#include <limits.h>
#include <stdint.h>

/*
 * A BPF program at a function's entry, in every process that maps its file. Since Linux 6.6 there
 * is a link type for it (uprobe_multi), which needs CAP_BPF and CAP_PERFMON. Before that it is a
 * perf event, which needs CAP_SYS_ADMIN (perf_uprobe_event_init(), kernel/events/core.c).
 */

struct uprobe_place {
	char path[PATH_MAX];
	uint64_t offset; /* in the file */
};

/* The expected attach type of a program for uprobe_attach_multi(); set it before loading. */
#define UPROBE_MULTI 48

/*
 * Finds a function in a file's symbol tables. A file name without a slash is searched like a
 * program, or like a library if it contains ".so". On failure, logs the reason and returns a
 * negative errno: the error of opening the file, -ENOEXEC if it is not an ELF file, -ENOENT if it
 * has no such function, -ENOTUNIQ if it has several.
 */
int uprobe_find(const char *file, const char *symbol, struct uprobe_place *ret);

/* Does the kernel have this link type? Tries it: 1, 0, or -EPERM if that is not permitted. */
int uprobe_multi_works(void);

/* Attaches a program. Returns the link's descriptor, or a negative errno. Closing it detaches. */
int uprobe_attach_multi(int program, const struct uprobe_place *place);

#endif
