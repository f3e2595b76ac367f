/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BENCH_WALKS_STACKS_H
#define DP_BENCH_WALKS_STACKS_H

/* Prints the frames of the walks that walks.bpf.c has made, for bench/record_stacks.py. */

struct walks_stacks;

/* state, pool: descriptors of the maps walks_state and dp_pool. */
struct walks_stacks *walks_stacks_new(int state, int pool);
struct walks_stacks *walks_stacks_free(struct walks_stacks *stacks);

/*
 * Prints the stack of the last sample, walked with --unwind auto: a line `sample`, one for each frame,
 * tab-separated. Nothing if there has been another sample meanwhile.
 */
void walks_stacks_print(struct walks_stacks *stacks);

#endif
