/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_EXCEPTION_PROBES_H
#define DP_KERNEL_EXCEPTION_PROBES_H

#include <stdbool.h>

#include "symbols/allocator.h"
#include "symbols/cxx_runtime.h"

/*
 * The probes where C++ runtimes throw, or those of allocators, in all files that turn out to have one. Threads of their own
 * set and remove them: the kernel waits for each process that has mapped the file, however long.
 * Such a thread may still do so when the session is gone, so its users share them.
 */
struct exception_probes;

/* Those in one file. */
struct exception_probe;

/* The descriptors that they need, which the caller keeps. */
struct exception_fds {
	int program;
	int returns;   /* of allocators: the program where their functions have returned; or -1 */
	bool is_multi; /* how it is attached (uprobe.h) */
	int arguments, whats; /* maps, of exceptions */
};

/* 0 or a negative errno. */
int exception_probes_new(const struct exception_fds *fds, struct exception_probes **ret);
/* Callable from any thread. NULL is allowed, and returned. */
struct exception_probes *exception_probes_hold(struct exception_probes *probes);
struct exception_probes *exception_probes_drop(struct exception_probes *probes);

/*
 * Has the probes of a file set; before exception_probes_start(), they only are to be set. Each file
 * has them once, however often it is given. fd: of the file, which the caller keeps. is_local: this
 * machine stores it; the kernel, which reads it, might wait for others for ever. `path` is for
 * messages. *ret is NULL if there are none, which is logged. Callable from any thread.
 */
void exception_probes_set(struct exception_probes *probes, int fd, bool is_local, const char *path,
			  const struct cxx_runtime *runtime, struct exception_probe **ret);

/* The same for the places of an allocator. */
void exception_probes_set_allocator(struct exception_probes *probes, int fd, bool is_local,
				    const char *path, const struct allocator *allocator,
				    struct exception_probe **ret);

/* Are they those of allocators? */
bool exception_probes_are_allocs(const struct exception_probes *probes);

/*
 * The caller's use of the file ends; with the last one, so do its probes, for which nobody waits.
 * Callable from any thread. NULL is allowed. Returns NULL.
 */
struct exception_probe *exception_probe_free(struct exception_probe *probe);

/*
 * Sampling begins. Waits for probes that are being set, but not for ever; so does a further call.
 * Logs what is wrong. 0 or a negative errno.
 */
int exception_probes_start(struct exception_probes *probes);

/* Sampling ends, for good. Likewise waits. Warns if nothing could be seen. NULL is allowed. */
void exception_probes_stop(struct exception_probes *probes);

#endif
