/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOADER_RESCUE_H
#define DP_LOADER_RESCUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "pool.h"

/*
 * Walks in user space for samples that the kernel could not walk, because they
 * met code whose tables were still on their way. The walker is the kernel's
 * own (bpf/walk.h), over the registers and the stack that the sample carries.
 */
struct rescue;

/* Registers and stack of a sample, as far as it could take them along. */
struct stack_copy {
	struct dp_regs regs;
	uint32_t tid; /* whose sample, and when: tells which sample it belongs to */
	uint64_t time_ns;
	uint64_t start; /* address of the first byte */
	size_t size;
	bool cut; /* there was more stack than was copied */
	bool in_syscall;
	uint8_t *bytes; /* owned */
};

struct stack_copy *stack_copy_free(struct stack_copy *copy);

/* Add the next chunk; *copy is made by the first one. 0, -ENOMEM, or -EBADMSG if it does not fit. */
int stack_copy_add(struct stack_copy **copy, const struct dp_chunk *chunk);

int rescue_new(const struct pool *pool, enum dp_unwind unwind, unsigned int max_frames,
	       struct rescue **ret);
struct rescue *rescue_free(struct rescue *rescue);

struct rescue_result {
	enum dp_outcome outcome;
	const __u64 *frames; /* as in struct dp_sample; valid until the next walk */
	size_t n_frames;
};

/* Walk a copied stack with the space `id` at `cell` of the pool. */
struct rescue_result rescue_walk(struct rescue *rescue, const struct stack_copy *copy, uint64_t id,
				 uint32_t cell);

#endif
