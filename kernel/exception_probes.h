/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_EXCEPTION_PROBES_H
#define DP_KERNEL_EXCEPTION_PROBES_H

#include <stdbool.h>

#include "functions/allocator.h"
#include "values/cxx_runtime.h"

/*
 * The probes where C++ runtimes throw, or in allocators, in all files that turn out to have one. Separate threads set
 * and remove them, because the kernel waits for each process that maps the file, however long. Such a thread may
 * outlive the session, so the object is reference-counted.
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
 * Sets the probes of a file, or, before exception_probes_start(), registers it for that. A file gets its probes once,
 * however often it is passed. fd: the file, which the caller keeps. is_local: it is stored on this machine; from other
 * machines, the kernel might wait for its code for ever. `path` is for messages. *ret is NULL if no probes are set,
 * which is logged. Callable from any thread.
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
 * Drops a reference to the probes of a file; the last one removes them, without waiting. Callable from any thread.
 * NULL is allowed. Returns NULL.
 */
struct exception_probe *exception_probe_free(struct exception_probe *probe);

/*
 * Starts sampling. Waits for probes that are being set, for a bounded time; a further call waits again. Logs errors.
 * 0 or a negative errno.
 */
int exception_probes_start(struct exception_probes *probes);

/* Stops sampling for good. Waits likewise. Warns of files whose probes were not set. NULL is allowed. */
void exception_probes_stop(struct exception_probes *probes);

#endif
