/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BENCH_RECORDED_H
#define DP_BENCH_RECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Consecutive stacks of a real program: where each frame's code is in its binary, and how far its
 * registers are apart. bench/record_stacks.py writes them as text:
 *
 *     binary START SIZE HAS-TABLE           code, in hex; numbered from 0
 *     process                               the next samples are of another process
 *     sample SP IN-SYSCALL                  SP: bytes above the recording's lowest stack address
 *     frame BINARY ADDRESS RULE SIZE BELOW FP
 *
 * A frame ends SIZE bytes above its stack pointer; its caller's fp is saved BELOW words below the
 * return address (0: it is not). FP: its own fp, as SP, or 0. RULE: one of enum recorded_rule.
 */
enum recorded_rule {
	RECORDED_SP = 's',    /* the CFA is computed from sp */
	RECORDED_FP = 'f',    /* from fp */
	RECORDED_CHAIN = 'c', /* none: it is left by its frame pointer */
	RECORDED_ROOT = 'r',
};

/* Size of the memory with the stacks. */
#define RECORDED_STACK_SIZE (1U << 24)

struct recorded_binary {
	uint64_t start, size;
	bool has_table;
};

struct recorded_frame {
	unsigned int binary;
	enum recorded_rule rule;
	uint64_t address; /* in the binary */
	uint32_t size, below, fp;
};

struct recorded_sample {
	bool in_syscall;
	unsigned int process;
	uint32_t sp;
	size_t first, n_frames; /* in recording.frames */
};

struct recording {
	struct recorded_binary *binaries;
	size_t n_binaries, binaries_size;
	struct recorded_frame *frames;
	size_t n_frames, frames_size;
	struct recorded_sample *samples;
	size_t n_samples, samples_size;
};

/* 0, -EBADMSG if it is malformed, or another negative errno. The caller frees it if successful. */
int recording_read(const char *path, struct recording *ret);
void recording_done(struct recording *recording);

/* The address by which a sample's frame number n is looked up. */
uint64_t recorded_lookup(const struct recording *r, const struct recorded_sample *s, size_t n);

#endif
