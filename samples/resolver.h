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
	struct process *owner; /* counts frames in code that is in no file; NULL: nobody does */
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
 * Whether a walk in user space, with the mappings of the sample's time, is surely that of the sample which
 * the kernel has sent: no code has changed since, and what was found of runtimes keeps its frames. Changed code makes
 * the process's table doubtful (process_table_doubt()).
 */
bool resolver_is_certain(struct process_table *table, struct process *p,
			 const struct named_sample *sent, const struct unwinder_result *walk,
			 const struct snapshot *snapshot);

#endif
