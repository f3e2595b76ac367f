/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_JIT_INDEX_H
#define DP_SYMBOLS_JIT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each run of sorted pieces has more than twice as many as the next one. */
#define JIT_RUNS_MAX 64

/*
 * The pieces of code that a process generated at run time, to find the one that was at an address
 * at a time. Addresses are reused: a newer piece replaces the older ones that it overlaps, from its
 * own time on.
 */

/* The source line of an offset in a piece of code. */
struct jit_line {
	uint64_t offset; /* from the start of the code, up to the next line's offset */
	uint32_t line;
	uint32_t file; /* start of its name in files */
};

struct jit_code {
	char *name;
	uint64_t size;
	struct jit_line *lines; /* by offset */
	size_t n_lines;
	char *files; /* names, each with its terminating zero */
	size_t files_size;
	uint32_t column; /* if it has one line; 0: unknown */
	bool is_demangled;
};

struct jit_index {
	struct jit_code *codes; /* in order of arrival */
	size_t n_codes, codes_size;
	void *now;              /* current pieces, which do not overlap: a tree (tsearch(3)) */
	struct jit_piece *past; /* pieces that have been replaced */
	size_t n_past, past_size;
	size_t run_ends[JIT_RUNS_MAX]; /* in past: each run is sorted by address */
	size_t n_runs;                 /* those in no run yet are behind the last one */
	size_t memory;                 /* approximate, in bytes */
};

/* The result of jit_index_find() if there is no such piece. */
#define JIT_CODE_NONE UINT32_MAX

void jit_index_done(struct jit_index *index);

/*
 * Adds a piece of code that has no address yet. Takes over what `code` points to, even on failure.
 * 0, -ENOMEM or -E2BIG.
 */
int jit_index_add_code(struct jit_index *index, struct jit_code *code, uint32_t *ret);

/*
 * Puts a piece at `start` from the time `born` on. Without times, `born` is 0, and any overlapped
 * piece was never there. 0, -ENOMEM, or -EINVAL for an impossible address.
 */
int jit_index_place(struct jit_index *index, uint32_t code, uint64_t start, uint64_t born);

/* The last piece that starts at `start`; JIT_CODE_NONE: there is none. */
uint32_t jit_index_find_start(const struct jit_index *index, uint64_t start);

/*
 * The piece that was at an address at a time (CLOCK_MONOTONIC ns), and the offset of the address in
 * it. UINT64_MAX: the time is unknown; there is a result only if a single piece was ever there.
 */
uint32_t jit_index_find(struct jit_index *index, uint64_t address, uint64_t time,
			uint64_t *ret_offset);

#endif
