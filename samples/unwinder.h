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
 * Walks stacks in user space: of samples that met code whose tables were not in the kernel yet, or whose
 * walk would have taken longer there than a sample may, and for --unwind copy. It is the kernel's own walker
 * (bpf/walk.h), run on the registers and the stack in the sample.
 */
struct unwinder;

/* How many times as much a walk may cost here as in the kernel: WALK_MAX_COST in bpf/walk_state.h. */
#define UNWINDER_TIMES 4

/* Contiguous bytes of a stack. */
struct stack_part {
	uint64_t start; /* address of the first byte */
	size_t size;
	bool cut;       /* more was behind it than was copied */
	uint8_t *bytes; /* owned */
};

/* The registers and stacks of a sample, as far as they were copied. */
struct stack_copy {
	struct dp_regs regs;
	bool in_syscall;
	uint32_t tid; /* TID and time of its sample */
	uint64_t time_ns;
	struct stack_part *parts;
	size_t n_parts, parts_size;
	size_t n_bytes; /* of all parts */
};

struct stack_copy *stack_copy_free(struct stack_copy *copy);
DEFINE_CLEANUP(struct stack_copy *, stack_copy_free)

/* Adds the next chunk; the first one makes *copy. 0 or -ENOMEM. */
int stack_copy_add(struct stack_copy **copy, const struct dp_chunk *chunk);

/*
 * Reads memory as it was. -ENODATA: the address may be on a stack that was not copied completely;
 * -EFAULT: it is on none.
 */
int stack_copy_read(const struct stack_copy *copy, void *ret, size_t size, uint64_t address);

/* The caller keeps the pool. 0 or -ENOMEM. */
int unwinder_new(const struct pool *pool, enum dp_unwind unwind, unsigned int max_frames,
		 struct unwinder **ret);
/* NULL is allowed. Returns NULL. */
struct unwinder *unwinder_free(struct unwinder *unwinder);

struct unwinder_result {
	enum dp_outcome outcome;
	const __u64 *frames; /* as in struct dp_sample; valid until the next walk */
	size_t n_frames;
	const struct dp_runtime *runtime; /* of these frames; NULL: none, or the sample's own */
	uint64_t fault_address;           /* as in struct dp_sample */
	/* Of each frame, as in the walker's trail, and 0 of the last; NULL: not known. Valid as the frames are. */
	const uint64_t *cfas;
	size_t n_landed; /* frames up to the last exception handler (return_check.h), or 0 */
};

/* Reads memory of a process. 0, or a negative errno; -ENODATA: it was not copied. */
typedef int unwinder_read(void *memory, void *ret, size_t size, uint64_t address);

/*
 * The frames of languages' runtimes of the thread that was walked last, by the snapshot's mappings and those
 * that the walk has noted. NULL: there are none. Valid until the next walk. A runtime may also know that the
 * walk has reached a root: then its outcome, in `result`, changes.
 */
const struct dp_runtime *unwinder_runtime(struct unwinder *unwinder,
					  const struct snapshot *snapshot,
					  struct unwinder_result *result);

/*
 * Walks a stack from these registers, with the snapshot `id` at `cell` of the pool. thread_base: 0
 * if not known.
 */
struct unwinder_result unwinder_walk_memory(struct unwinder *unwinder, const struct dp_regs *regs,
					    uint64_t thread_base, bool in_syscall,
					    unwinder_read *read, void *memory, uint64_t id,
					    uint32_t cell);

/* Returns the rule for an address in the snapshot at `cell`. */
void unwinder_rule(struct unwinder *unwinder, uint64_t address, uint32_t cell, struct dp_rule *ret);

/* Walks a copied stack in a snapshot; code is read from its files. */
struct unwinder_result unwinder_walk(struct unwinder *unwinder, const struct stack_copy *copy,
				     const struct snapshot *snapshot);

/*
 * The same for a call that has led to an address without code: the registers are the caller's, with
 * the return address as their pc. That frame is DP_METHOD_STACK_TOP, and the address is the
 * innermost.
 */
struct unwinder_result unwinder_walk_caller(struct unwinder *unwinder,
					    const struct stack_copy *copy,
					    const struct snapshot *snapshot, uint64_t called);

#endif
