/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOADER_LAST_STACKS_H
#define DP_LOADER_LAST_STACKS_H

#include <stddef.h>

#include "abi.h"

/*
 * The last stacks of one ring: a sample names only those of its frames that differ from
 * the stack before (struct dp_sample), which is the last one that was made on its level.
 */
struct last_stacks {
	struct last_stack {
		__u64 *frames;
		size_t n, size;
	} of[DP_UPROBE_LEVELS];
	struct dp_sample *whole;
	size_t whole_size;
};

void last_stacks_done(struct last_stacks *stacks);

/*
 * Give a sample all its frames: every one that is on the ring has to go through here, in
 * the order in which they are there. size: bytes of the record. *ret is the sample itself
 * or a copy, until the next call. 0, -ENOMEM, or -EBADMSG if it is no such record.
 */
int last_stacks_complete(struct last_stacks *stacks, const struct dp_sample *sample, size_t size,
			 const struct dp_sample **ret, size_t *ret_size);

#endif
