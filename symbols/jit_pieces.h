/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_JIT_PIECES_H
#define DP_SYMBOLS_JIT_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/jit_index.h"
#include "symbols/names.h"

/*
 * What a jitdump or a perf map says about pieces of code, in its order, in a form without pointers: whoever
 * reads the file need not be the process that has the index (sandbox/parser.h).
 *
 *     | head | name | lines | files |  ...
 */
struct jit_pieces {
	uint8_t *bytes;
	size_t n, size;
	bool demangles; /* names, as `style` says; otherwise they are as in the file */
	enum names_demangle style;
};

/* How far a file has been read. Starts as zero. */
struct jit_position {
	uint64_t at;       /* what was not read yet */
	uint64_t lines_at; /* the record with lines for the next piece of code; 0: none */
	bool has_times;    /* in CLOCK_MONOTONIC, as those of samples */
	bool is_closed;    /* it says that nothing will follow */
};

void jit_pieces_done(struct jit_pieces *pieces);

/*
 * Adds a piece of code that was at an address from a time on, with what `code` has, which the caller keeps. 0
 * or -ENOMEM.
 */
int jit_pieces_add(struct jit_pieces *pieces, const struct jit_code *code, uint64_t start,
		   uint64_t time);

/* What was at one address is at another from then on. 0 or -ENOMEM. */
int jit_pieces_move(struct jit_pieces *pieces, uint64_t from, uint64_t to, uint64_t time);

/*
 * Puts all of them into the index, which is to have at most `limit` bytes. The bytes may be anyone's: 0,
 * -EPROTO if they are not what the functions above write, -E2BIG or -ENOMEM.
 */
int jit_pieces_place(const struct jit_pieces *pieces, size_t limit, struct jit_index *index);

#endif
