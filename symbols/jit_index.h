/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_JIT_INDEX_H
#define DP_SYMBOLS_JIT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A larger file is not one that is written for profilers, but one that is to keep them busy. */
#define JIT_FILE_MAX (UINT64_C(1) << 30)

/*
 * Pieces of code that a process made while it ran, and which of them was at an address at
 * a time. A piece that comes later takes the place of what it covers, from its own
 * time on; addresses are used again and again.
 */

/* Where an address inside a piece of code is in the source. */
struct jit_line {
	uint64_t offset; /* from the start of the code; it holds until the next one's */
	uint32_t line;
	uint32_t file; /* where its name starts in files */
};

struct jit_code {
	char *name;
	uint64_t size;
	struct jit_line *lines; /* by offset */
	size_t n_lines;
	char *files; /* names, each with its zero */
	size_t files_size;
	bool is_demangled;
};

struct jit_index {
	struct jit_code *codes; /* in the order in which they came */
	size_t n_codes, codes_size;
	void *now; /* the pieces there are, none of which overlap: a tree (tsearch(3)) */
	struct jit_piece *past; /* those whose place was taken */
	size_t n_past, past_size;
	size_t n_sorted; /* of these, by address */
	size_t memory;   /* in bytes, about */
};

/* Pieces of code at most, of a process; more than any is known to make. */
#define JIT_INDEX_MAX (UINT32_C(1) << 22)
/* Larger ones, in bytes, are none. */
#define JIT_CODE_MAX (UINT64_C(1) << 31)

/* What jit_index_find() returns besides numbers of pieces. */
#define JIT_CODE_NONE UINT32_MAX

void jit_index_done(struct jit_index *index);

/* A piece that nothing lies at yet; takes over what `code` points at, on failure, too. 0, -ENOMEM, -E2BIG. */
int jit_index_add_code(struct jit_index *index, struct jit_code *code, uint32_t *ret);

/*
 * From `born` on, it lies at `start`. Where times are not known, they are 0: what it
 * covers was never there. 0, -ENOMEM, or -EINVAL for a place that cannot be.
 */
int jit_index_place(struct jit_index *index, uint32_t code, uint64_t start, uint64_t born);

/* The last one that lies at `start`; JIT_CODE_NONE: there is none. */
uint32_t jit_index_find_start(const struct jit_index *index, uint64_t start);

/*
 * The piece that was at an address at a time (CLOCK_MONOTONIC ns), and how far the address
 * is from its start. UINT64_MAX: at a time that is not known, which has an answer where
 * only one piece ever was.
 */
uint32_t jit_index_find(struct jit_index *index, uint64_t address, uint64_t time,
			uint64_t *ret_offset);

#endif
