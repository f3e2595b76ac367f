/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BENCH_WALKS_SAMPLE_H
#define DP_BENCH_WALKS_SAMPLE_H

/* A record from walks.bpf.c to walks.c: one moment of a program, its stack walked in all ways. */

#include "bpf/abi.h"

/*
 *   X(enumerator, word)
 */
#define WALKS(X)                                                                                   \
	/* nothing but reading the clock twice */                                                  \
	X(EMPTY, "empty")                                                                          \
	/* bpf_get_stack() */                                                                      \
	X(KERNEL, "kernel")                                                                        \
	/* the walker's modes, with memory of earlier samples */                                   \
	X(FP, "fp")                                                                                \
	X(DWARF, "dwarf")                                                                          \
	X(AUTO, "auto")                                                                            \
	/* dwarf, remembering addresses, but not the previous stack */                             \
	X(APART, "apart")                                                                          \
	/* dwarf, remembering nothing */                                                           \
	X(COLD, "cold")

#define X(name, word) WALKS_##name,
enum walks_way { WALKS(X) WALKS_N };
#undef X

/* A power of two, so that a mask bounds an index. */
#define WALKS_ROOM 8

DP_ASSERT(WALKS_N <= WALKS_ROOM, "each way has its place");

struct walks_result {
	__u64 root; /* address of the outermost frame */
	__u32 ns;
	__u16 n_frames;
	__u8 outcome; /* enum dp_outcome; 0 of ways without our walker */
	__u8 turn;    /* its position in the order, from 0 */
};

struct walks_sample {
	__u64 time_ns;
	struct walks_result results[WALKS_ROOM];
};

#endif
