/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_SHARE_H
#define DP_BPF_SHARE_H

/*
 * The share of a CPU that a process's costly walks may take. Unwind information belongs to the
 * profiled program: within the limits of one walk, every sample of it could cost as much as that
 * limit allows, on each CPU, as often as samples are taken.
 *
 * A walk is costly beyond SHARE_FREE_COST operations, which honest programs need only for hundreds of
 * frames that were not met before, or that are large; so is one that copies much of the stack, or has
 * hundreds of a runtime's frames. Only such samples are timed, so that others pay nothing. When those of a
 * process have taken its share of a second (share_of_rate()), its walks end at SHARE_FREE_COST, with the
 * outcome walk_share, as do its lists of frames, and copies are of SHARE_FREE_CHUNKS, until the second is
 * over.
 *
 * Processes whose PIDs are equal modulo SHARE_SLOTS have one share. All together get at most SHARE_SLOTS
 * shares per second, CPU and level; twice that across a window's boundary.
 */

#include "bpf/port.h"
#include "bpf/walk_state.h"

#define SHARE_WINDOW_NS 1000000000ULL
#define SHARE_MAX_NS 20000000 /* of SHARE_WINDOW_NS, on each CPU */
/* At high rates, for each wanted sample: about as long as it takes to read a hundred frames in a heap; and the most. */
#define SHARE_SAMPLE_NS 50000
#define SHARE_RATE_MAX_NS 50000000
#define SHARE_FREE_COST 3584 /* operations, as in WALK_MAX_COST */
#define SHARE_FREE_CHUNKS DP_COPY_CHUNKS
#define SHARE_MOST_NS 1000000 /* of one walk: programs of uprobes may be preempted meanwhile */
#define SHARE_SLOTS 8         /* a power of two */

/* To copy a chunk of the stack takes as long as so many operations. */
#define SHARE_CHUNK_COST 112

/*
 * The most chunks to be copied after a walk of this cost, of so many: both together take as long as a walk
 * that WALK_MAX_COST ends, and SHARE_FREE_CHUNKS.
 */
static __always_inline __u32 share_chunks(__u32 cost, __u32 n_chunks)
{
	__u32 left = cost < WALK_MAX_COST ? WALK_MAX_COST - cost : 0;
	__u32 most = left / SHARE_CHUNK_COST + SHARE_FREE_CHUNKS;

	return n_chunks < most ? n_chunks : most;
}

/* The share of a process, of a second. hz: the samples that are wanted of an event; 0: not known */
static __always_inline __u64 share_of_rate(__u32 hz)
{
	__u64 ns = (__u64)hz * SHARE_SAMPLE_NS;

	return ns < SHARE_MAX_NS ? SHARE_MAX_NS : ns < SHARE_RATE_MAX_NS ? ns : SHARE_RATE_MAX_NS;
}

/* What was taken of this second. */
struct share {
	__u64 start;
	__u64 ns;
};

/* Of one CPU. */
struct shares {
	__u64 until; /* to this time, some process is over its share; 0: none is */
	struct share slots[SHARE_SLOTS];
};

/* Adds what a costly walk of a process has taken from `start` to `end`, in CLOCK_MONOTONIC's ns. most: share_of_rate() */
static __always_inline void share_charge(struct shares *shares, __u32 pid, __u64 start, __u64 end,
					 __u64 most)
{
	struct share *share = &shares->slots[port_index(pid & (SHARE_SLOTS - 1), SHARE_SLOTS)];

	if (start - share->start >= SHARE_WINDOW_NS) {
		share->start = start;
		share->ns = 0;
	}
	share->ns += end - start < SHARE_MOST_NS ? end - start : SHARE_MOST_NS;
	if (share->ns >= most && shares->until < share->start + SHARE_WINDOW_NS)
		shares->until = share->start + SHARE_WINDOW_NS;
}

/* True if the process has taken its share of the second that `now` is in. */
static __always_inline __u32 share_is_taken(struct shares *shares, __u32 pid, __u64 now, __u64 most)
{
	const struct share *share =
		&shares->slots[port_index(pid & (SHARE_SLOTS - 1), SHARE_SLOTS)];

	return now - share->start < SHARE_WINDOW_NS && share->ns >= most;
}

#endif
