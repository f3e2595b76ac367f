/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_COPIES_H
#define DP_SAMPLES_COPIES_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "samples/unwinder.h"

/* Copies of stacks read from the rings, where a sample's chunks precede it. */
struct copies {
	struct stack_copy **all; /* owned */
	size_t n, size;
};

void copies_done(struct copies *copies);

/* Adds the next chunk of a sample's stack. 0 or -ENOMEM. */
int copies_add(struct copies *copies, const struct dp_chunk *chunk);

/* Returns the copy of a sample, which the caller then owns, or NULL. */
struct stack_copy *copies_take(struct copies *copies, uint32_t tid, uint64_t time_ns);

/* Drops copies of samples from before a time: those samples were lost because the ring was full. */
void copies_forget(struct copies *copies, uint64_t before);

#endif
