/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_RETURN_CHECK_H
#define DP_SAMPLES_RETURN_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/snapshot.h"
#include "samples/unwinder.h"

/*
 * Whether the return addresses of a stack are behind calls: one that is not was found where
 * the unwind information is wrong, or the stack is damaged. It is asked here, not in each
 * walk, because to read eight bytes of code takes the kernel as long as to leave a frame.
 * The bytes are those of the binary's file, or, where these say no, those in memory.
 */

/* Addresses that are remembered; a power of two. */
#define RETURN_CHECK_KNOWN 1024

struct return_check {
	struct unwinder *unwinder;
	struct return_check_known {
		uint64_t binary; /* its number */
		uint64_t address;
	} known[RETURN_CHECK_KNOWN];
};

/* The unwinder, which knows rules, stays the caller's. */
void return_check_init(struct return_check *check, struct unwinder *unwinder);

enum return_verdict {
	RETURN_CALLED,
	RETURN_LANDS, /* the handler of an exception, which is just being landed in */
	RETURN_NOT_CALLED,
};

/*
 * May frame i of a walk in the snapshot be where it says, in the mapping m, or NULL? Not asked
 * are frames that nobody has called: the innermost one, a stack's root, and what a signal
 * handler returns to; those that the walker has asked about itself, as it did not go by unwind
 * information; and code in no file, as just-in-time compilers push return addresses in other
 * ways, too. thread: whose memory may be read. All frames of a walk are asked for, the
 * innermost first.
 */
enum return_verdict return_check_frame(struct return_check *check, const struct snapshot *snapshot,
				       const struct mapping *m, pid_t thread,
				       struct unwinder_result *walk, size_t i);

/*
 * End a walk in a snapshot at the first frame that cannot be: with DP_NO_CALL, without it.
 * frames: a copy of the walk's, in which handlers are marked.
 */
void return_check_cut(struct return_check *check, const struct snapshot *snapshot, pid_t thread,
		      struct unwinder_result *walk, __u64 *frames);

#endif
