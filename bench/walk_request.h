/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BENCH_WALK_REQUEST_H
#define DP_BENCH_WALK_REQUEST_H

#include "abi.h"

/* Moments that are kept; a power of two. */
#define WALK_MOMENTS 32768

/*
 * What is measured at each moment, one after the other; which comes first goes
 * round.
 *
 *   X(enumerator, word)
 */
#define WALK_WAYS(X)                                                                               \
	X(NOTHING, "nothing")  /* what it takes to measure */                                      \
	X(KERNEL, "kernel_fp") /* bpf_get_stack() */                                               \
	X(DWARF, "dwarf")      /* tables, with the cache that the moments before have left */      \
	X(AUTO, "auto")        /* the same, frame pointers where there is no rule */               \
	X(FP, "fp")            /* our walk along frame pointers */                                 \
	X(COLD, "dwarf_cold")  /* tables, with nothing in the cache */

#define X(name, word) WALK_##name,
enum walk_way { WALK_WAYS(X) WALK_N_WAYS };
#undef X

#define WALK_ROOM 8 /* for ways: a power of two */

/* A moment: nanoseconds of each way, and the frames that it found. */
struct walk_moment {
	__u32 ns[WALK_ROOM];
	__u16 frames[WALK_ROOM];
	__u8 outcome[WALK_ROOM]; /* enum dp_outcome */
};

#endif
