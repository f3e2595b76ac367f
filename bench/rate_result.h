/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BENCH_RATE_RESULT_H
#define DP_BENCH_RATE_RESULT_H

/* From rate.bpf.c to rate.c. */

#include "bpf/abi.h"

/*
 * What programs of perf events do, each with the number of the frames that it found.
 *
 *   X(name, word)
 */
#define RATE_METHODS(X)                                                                            \
	X(empty, "empty")                                                                          \
	X(send, "send") /* a record of the size of a sample's */                                   \
	X(user, "user") /* the kernel's walk of the user's stack, by frame pointers */             \
	X(both, "both") /* of this and its own stack */

/* The results of the last samples; a power of two. */
#define RATE_RESULTS 16384

#define RATE_MAX_FRAMES 2048

/* Bytes of the record that is sent: twenty frames. */
#define RATE_RECORD_SIZE 224

struct rate_result {
	__u32 n_user, n_kernel;
	__u64 root; /* address of the user's outermost frame */
};

#endif
