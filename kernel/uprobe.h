/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_UPROBE_H
#define DP_KERNEL_UPROBE_H

#include <limits.h>
#include <stdint.h>

/*
 * A BPF program at the start of a function, in every process that has its file
 * mapped. Since Linux 6.6 a link of its own kind does it (uprobe_multi), which
 * takes CAP_BPF and CAP_PERFMON; before that it is a perf event, for which the
 * kernel demands CAP_SYS_ADMIN (perf_uprobe_event_init(), kernel/events/core.c).
 */

struct uprobe_place {
	char path[PATH_MAX];
	uint64_t offset; /* in the file */
};

/* What a program must be loaded with, as its expected attach type, for uprobe_attach_multi(). */
#define UPROBE_MULTI 48

/*
 * Where the function is that a file's symbol tables call that. A name without a
 * slash is looked for like a program, or a library if it contains ".so". Says
 * what is wrong, and returns a negative errno: what the system says of the
 * file, -ENOEXEC if it is no ELF file, -ENOENT if it has no such function,
 * -ENOTUNIQ if it has several.
 */
int uprobe_find(const char *file, const char *symbol, struct uprobe_place *ret);

/* Does the kernel have such links? Found by trying: 1, 0, or -EPERM if it may not be tried. */
int uprobe_multi_works(void);

/* Attach a program. Returns the link's descriptor, whose closing ends it, or a negative errno. */
int uprobe_attach_multi(int program, const struct uprobe_place *place);

#endif
