/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_ALLOC_LAYOUT_H
#define DP_BPF_ALLOC_LAYOUT_H

/* Allocations of memory (alloc.bpf.h). Part of abi.h. */

/* Where a function has its size and its result, and how it returns: the cookie of its probes. */
enum dp_alloc {
	/* With a uretprobe: */
	DP_ALLOC_MALLOC,  /* (size) */
	DP_ALLOC_CALLOC,  /* (number, size) */
	DP_ALLOC_REALLOC, /* (pointer, size) */
	DP_ALLOC_ALIGNED, /* (alignment, size) */
	DP_ALLOC_POSIX,   /* (&pointer, alignment, size), returns 0 */
	/* Without, which would end a program whose exception leaves the call: */
	DP_ALLOC_NEW,   /* (size), returns at a DP_ALLOC_EXIT */
	DP_ALLOC_THROW, /* throws an exception */
	DP_ALLOC_FREE,  /* (pointer) */
	DP_ALLOC_EXIT, /* an instruction that returns, of which the call's frame is the return address alone */
	DP_N_ALLOCS,
};

/* The most memory that is known to be held, in pieces. */
#define DP_MAX_HELD (1 << 21)
/* Threads that may be allocating at once. */
#define DP_MAX_ALLOC_THREADS (1 << 16)

/* A piece of memory that a process has not given back. */
struct dp_held_key {
	__u64 pointer;
	__u32 pid;
	__u32 zero;
};

struct dp_held {
	__u64 number; /* of its sample */
	__u64 size;
	__u32 weight; /* of its sample: it stands for so many pieces */
	__u32 zero;
};

struct dp_alloc_counts {
	__u64 n_samples; /* the last number */
	__u64 n_full;    /* pieces that are not known to be held, as there was no more room */
};

/* The values of a sample, in its struct dp_values. */
enum dp_alloc_value { DP_ALLOC_SIZE, DP_ALLOC_NUMBER, DP_ALLOC_N_VALUES };

DP_ASSERT(sizeof(struct dp_held_key) == 16 && sizeof(struct dp_held) == 24, "there are no gaps");

#endif
