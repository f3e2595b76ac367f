/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_JIT_MAP_H
#define DP_SYMBOLS_JIT_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/jit_index.h"

struct names;

/*
 * A perf map: a text file that a process adds lines to as it makes code, `START SIZE
 * NAME` with numbers in base 16 (Linux, tools/perf/Documentation/jit-interface.txt;
 * some write 0x before them). Of lines that overlap, the last one counts.
 */
struct jit_map {
	int fd; /* owned; -1: not open */
	uint64_t position;
};

/* Longer lines, of which some were seen with thousands of bytes, are cut. */
#define JIT_MAP_LINE_MAX 16384

/*
 * Read whole lines on, until the end or until the index takes more memory than that.
 * A file that was made shorter is read anew. 0, or a negative errno after which there
 * is nothing more to read. Ends early if `names` are not wanted any more (names.h).
 */
int jit_map_read(struct jit_map *map, const struct names *names, struct jit_index *index,
		 size_t max_memory);

#endif
