/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_CALLED_H
#define DP_SAMPLES_CALLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/space.h"
#include "samples/unwinder.h"

/*
 * Whether the return addresses of a stack are behind calls: one that is not was found where
 * the unwind information is wrong, or the stack is damaged. It is asked here, not in each
 * walk, because to read eight bytes of code takes the kernel as long as to leave a frame.
 * The bytes are those of the binary's file, or, where these say no, those in memory.
 */

/* Addresses that are remembered; a power of two. */
#define CALLED_KNOWN 1024

struct called {
	struct unwinder *unwinder;
	struct called_known {
		uint64_t binary; /* its number */
		uint64_t address;
	} known[CALLED_KNOWN];
};

/* The unwinder, which knows rules, stays the caller's. */
void called_init(struct called *called, struct unwinder *unwinder);

enum called_verdict {
	CALLED,
	CALLED_LANDING, /* the handler of an exception, which is just being landed in */
	CALLED_NOT,
};

/*
 * May frame i of a walk in the space be where it says, in the mapping m, or NULL? Not asked
 * are frames that nobody has called: the innermost one, a stack's root, and what a signal
 * handler returns to; those that the walker has asked about itself, as it did not go by unwind
 * information; and code in no file, as just-in-time compilers push return addresses in other
 * ways, too. thread: whose memory may be read. All frames of a walk are asked for, the
 * innermost first.
 */
enum called_verdict called_frame(struct called *called, const struct space *space,
				 const struct mapping *m, pid_t thread,
				 struct unwinder_result *walk, size_t i);

/*
 * End a walk in a space at the first frame that cannot be: with DP_NO_CALL, without it.
 * frames: a copy of the walk's, in which handlers are marked.
 */
void called_cut(struct called *called, const struct space *space, pid_t thread,
		struct unwinder_result *walk, __u64 *frames);

#endif
