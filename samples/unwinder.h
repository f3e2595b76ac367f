/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_UNWINDER_H
#define DP_SAMPLES_UNWINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/abi.h"
#include "kernel/pool.h"
#include "process/snapshot.h"

/*
 * Walks in user space for samples that the kernel could not walk, because they
 * met code whose tables were still on their way, and for --unwind copy. The walker
 * is the kernel's own (bpf/walk.h), over the registers and the stack that the sample
 * carries.
 */
struct unwinder;

/* Bytes of a stack that lie together. */
struct stack_part {
	uint64_t start; /* address of the first byte */
	size_t size;
	bool cut;       /* there was more behind it than was copied */
	uint8_t *bytes; /* owned */
};

/* Registers and stacks of a sample, as far as it could take them along. */
struct stack_copy {
	struct dp_regs regs;
	bool in_syscall;
	uint32_t tid; /* whose sample, and when: tells which sample it belongs to */
	uint64_t time_ns;
	struct stack_part *parts;
	size_t n_parts, parts_size;
	size_t n_bytes; /* of all parts */
};

struct stack_copy *stack_copy_free(struct stack_copy *copy);
DEFINE_CLEANUP(struct stack_copy *, stack_copy_free)

/* Add the next chunk; *copy is made by the first one. 0 or -ENOMEM. */
int stack_copy_add(struct stack_copy **copy, const struct dp_chunk *chunk);

/*
 * Read memory as it was. -ENODATA: the address may be on a stack of which not
 * all was copied; -EFAULT: it is on none.
 */
int stack_copy_read(const struct stack_copy *copy, void *ret, size_t size, uint64_t address);

int unwinder_new(const struct pool *pool, enum dp_unwind unwind, unsigned int max_frames,
		 struct unwinder **ret);
struct unwinder *unwinder_free(struct unwinder *unwinder);

struct unwinder_result {
	enum dp_outcome outcome;
	const __u64 *frames; /* as in struct dp_sample; valid until the next walk */
	size_t n_frames;
	uint64_t fault_address; /* as in struct dp_sample */
	size_t n_landed; /* frames up to the last handler of an exception (return_check.h); or 0 */
};

/* Reads memory of a process: 0, or a negative errno; -ENODATA: it was not copied. */
typedef int unwinder_read(void *memory, void *ret, size_t size, uint64_t address);

/*
 * Walk a stack from these registers on, with the snapshot `id` at `cell` of the pool. thread_base: 0
 * if it is not known.
 */
struct unwinder_result unwinder_walk_memory(struct unwinder *unwinder, const struct dp_regs *regs,
					    uint64_t thread_base, bool in_syscall,
					    unwinder_read *read, void *memory, uint64_t id,
					    uint32_t cell);

/* The rule for an address in the snapshot at `cell`. */
void unwinder_rule(struct unwinder *unwinder, uint64_t address, uint32_t cell, struct dp_rule *ret);

/* Walk a copied stack in a snapshot; code is that of its files. */
struct unwinder_result unwinder_walk(struct unwinder *unwinder, const struct stack_copy *copy,
				     const struct snapshot *snapshot);

#endif
