/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_BLOCKS_H
#define DP_SAMPLES_BLOCKS_H

#include "base/cleanup.h"
#include "base/hash.h"
#include "report/sample.h"
#include "symbols/kallsyms.h"

/*
 * Threads that are blocked: their samples, taken when they left the CPU, wait here
 * until it is known for how long. There is at most one for each thread.
 */

struct block {
	struct sample sample; /* with its own frames, which follow; their modules are held */
	uint64_t ended_ns;    /* when the thread was found to be gone; 0: it was not */
	UT_hash_handle hh;    /* by sample.tid */
	struct frame frames[];
};

struct blocks {
	struct block *by_tid;
	const struct kallsyms *kallsyms; /* NULL: unknown */
	size_t n_own;                    /* frames of kernel stacks that are ours, once known */
	bool knows_own;
	uint64_t looked; /* when ended threads were last looked for */
};

/* NULL is nothing. Returns NULL. */
struct block *block_free(struct block *block);
DEFINE_CLEANUP(struct block *, block_free)

void blocks_done(struct blocks *blocks);

/* Keep a copy. What the thread had before was too short or too long, or its end was lost. 0 or -ENOMEM. */
int blocks_add(struct blocks *blocks, const struct sample *sample);

/* The block of a thread that began at that time, which is the caller's to free; or NULL. */
struct block *blocks_take(struct blocks *blocks, pid_t tid, uint64_t time_ns);

/* A thread has ended: give up what it had, unless another one has its number since. */
void blocks_forget(struct blocks *blocks, pid_t tid, uint64_t time_ns);

/*
 * Give up those of threads that have ended without a record of it, which is lost where a ring is
 * full. The records from before a time have all been handled. Looks every ten seconds.
 */
void blocks_update(struct blocks *blocks, uint64_t before, uint64_t now);

/*
 * How many of a kernel stack's frames, from the leaf, are the tracepoint's and the
 * BPF program's. They are the same in all; 0 as long as no stack has told.
 */
size_t blocks_own_frames(struct blocks *blocks, const __u64 *kernel, size_t n);

#endif
