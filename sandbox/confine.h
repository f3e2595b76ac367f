/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_CONFINE_H
#define DP_SANDBOX_CONFINE_H

#include <stdint.h>

/*
 * The layers around a process that parses files of strangers. It keeps the descriptors that it has,
 * can read and write them, and can do nothing else: open nothing, connect to nothing, execute
 * nothing, look at or signal no other process. Each layer alone stops most of that; together they
 * remain closed if the kernel lacks one or one has a hole.
 */
enum confine_layer {
	CONFINE_USER,              /* another user */
	CONFINE_CAPABILITIES,      /* none */
	CONFINE_NO_NEW_PRIVILEGES, /* no_new_privs */
	CONFINE_LIMITS,            /* of memory and files */
	CONFINE_LANDLOCK,          /* no files */
	CONFINE_SECCOMP,           /* few system calls */
	CONFINE_N_LAYERS,
};

/* A confined process can have this much memory of its own; mapped files do not count. */
#define CONFINE_MEMORY (UINT64_C(1) << 30)

/*
 * Confines this process, which has only one thread and gives up what it can. Returns the layers that
 * it now has, by bit. Without root it has no user of its own. Kernels from 5.13 on have Landlock.
 */
unsigned int confine_self(void);

#endif
