/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_LAST_STACKS_H
#define DP_KERNEL_LAST_STACKS_H

#include <stddef.h>

#include "kernel/ring_record.h"

/*
 * The last stacks of one ring, and their names: a sample has only those of its frames that
 * differ from the stack before (struct dp_sample), which is the last one that was made on
 * its level, and its names only if they are others (struct dp_names).
 */
struct last_stacks {
	struct last_stack {
		struct dp_names names; /* empty ones if there was no sample */
		__u64 *frames;
		size_t n, size;
	} of[DP_UPROBE_LEVELS];
	struct named_sample *whole;
	size_t whole_size;
};

void last_stacks_done(struct last_stacks *stacks);

/*
 * Give a sample its names and all its frames: every record that has one has to go through here,
 * in the order of the ring. size: bytes of the record. *ret is the record itself or a copy, until
 * the next call. 0, -ENOMEM, or -EBADMSG if a part of it is too short, or the frames that it shares
 * are not known.
 */
int last_stacks_complete(struct last_stacks *stacks, const void *record, size_t size,
			 const struct named_sample **ret, size_t *ret_size);

/* A record is missing: samples that share frames with it are refused, as with one before. */
void last_stacks_forget(struct last_stacks *stacks);

#endif
