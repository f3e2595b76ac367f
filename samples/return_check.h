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
 * Checks that each return address of a stack follows a call instruction: others are due to wrong unwind information
 * or a damaged stack. Done here, not in the walk, because reading eight bytes of code takes the kernel as long as
 * unwinding a frame. Reads the code from the binary's file; if that has no call there, from memory.
 */

/* Number of cached addresses; a power of two. */
#define RETURN_CHECK_KNOWN 1024

struct return_check {
	struct unwinder *unwinder;
	struct fetchers *fetchers;
	struct return_check_known {
		uint64_t binary; /* its number */
		uint64_t address;
	} known[RETURN_CHECK_KNOWN];
};

/*
 * The unwinder, which finds rules, and who reads code in memory (fetchers.h; NULL is allowed), stay the
 * caller's.
 */
void return_check_init(struct return_check *check, struct unwinder *unwinder,
		       struct fetchers *fetchers);

enum return_verdict {
	RETURN_CALLED,
	RETURN_LANDS, /* an exception handler, in which a landing is in progress */
	RETURN_NOT_CALLED,
};

/*
 * Checks frame i of a walk in the snapshot; m is its mapping, or NULL. Not checked: frames without
 * a call (the innermost one, a stack's root, and the code to which a signal handler returns),
 * frames that the walker has checked itself because it did not use unwind information, and code in
 * no file (JIT compilers push return addresses in other ways). thread: whose memory may be read. To
 * be called for all frames of a walk, innermost first.
 */
enum return_verdict return_check_frame(struct return_check *check, const struct snapshot *snapshot,
				       const struct mapping *m, pid_t thread,
				       struct unwinder_result *walk, size_t i);

/*
 * Ends a walk in a snapshot at the first impossible frame, with DP_NO_CALL, and removes that frame.
 * frames: a copy of the walk's, in which handlers are marked.
 */
void return_check_cut(struct return_check *check, const struct snapshot *snapshot, pid_t thread,
		      struct unwinder_result *walk, __u64 *frames);

#endif
