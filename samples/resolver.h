/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_RESOLVER_H
#define DP_SAMPLES_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/abi.h"

struct frame;
struct named_sample;
struct process;
struct process_table;
struct return_check;
struct snapshot;
struct table_store;
struct unwinder_result;

/* What tells whose code frames are in; all is the caller's. */
struct resolver {
	struct return_check *return_check;
	struct table_store *tables;
};

/*
 * Resolves frames to binaries with the mappings of the walk, and notes that their tables were used.
 * If a mapping had ended by then but the kernel did not know, the frame in it is the last with a
 * correct address. The stack also ends where no call can have been made. p: the process, for a
 * stack that the kernel walked; NULL for others. Returns the number of frames in *ret, which has room
 * for DP_MAX_FRAMES.
 */
size_t resolver_frames(const struct resolver *resolver, const struct snapshot *snapshot,
		       const struct process *p, struct unwinder_result *walk,
		       const struct dp_sample *raw, struct frame *ret);

/*
 * The kernel found other code than it knew, or no cookie, at the frame after those it sent. Has a
 * record explained that? walk: the finished one, with these mappings.
 */
bool resolver_knows_code(struct process_table *table, const struct process *p,
			 const struct dp_sample *raw, const struct unwinder_result *walk,
			 const struct snapshot *snapshot);

/*
 * Whether a walk in user space has found all frames that the kernel has sent, if it has sent functions of
 * HotSpot or V8, which belong to native frames by their numbers. It cannot read what the kernel finds a
 * JVM's frames by, so it may end in front of them, or take others for their callers.
 */
bool resolver_has_all(const struct named_sample *sent, const struct unwinder_result *walk);

#endif
