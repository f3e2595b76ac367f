/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_LAST_STACKS_H
#define DP_KERNEL_LAST_STACKS_H

#include <stddef.h>

#include "kernel/ring_record.h"

/*
 * The last stack and names of each level in one ring. A sample contains only the frames that differ
 * from the previous stack on its level (struct dp_sample), and names only if they have changed
 * (struct dp_names).
 */
struct last_stacks {
	struct last_stack {
		struct dp_names names; /* empty if there was no sample */
		__u64 *frames;
		size_t n, size;
	} of[DP_UPROBE_LEVELS];
	struct named_sample *whole;
	size_t whole_size;
};

void last_stacks_done(struct last_stacks *stacks);

/*
 * Completes a sample with its names and shared frames. Every record with a sample must pass through
 * here, in the order of the ring. size: bytes of the record. *ret is the record itself or a copy,
 * valid until the next call. Returns 0, -ENOMEM, or -EBADMSG if a part is too short or the shared
 * frames are unknown.
 */
int last_stacks_complete(struct last_stacks *stacks, const void *record, size_t size,
			 const struct named_sample **ret, size_t *ret_size);

/* Call this when a record was lost: samples that share frames with earlier ones are refused. */
void last_stacks_forget(struct last_stacks *stacks);

#endif
