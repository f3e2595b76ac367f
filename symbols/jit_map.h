/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_JIT_MAP_H
#define DP_SYMBOLS_JIT_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/jit_index.h"

struct names;

/*
 * A perf map: a text file to which a process adds a line `START SIZE NAME` with hexadecimal numbers
 * for each piece of code (Linux, tools/perf/Documentation/jit-interface.txt; some write 0x before
 * them). If lines overlap, the last one counts.
 */
struct jit_map {
	int fd; /* owned; -1: not open */
	uint64_t position;
};

/* Longer lines are truncated; lines of thousands of bytes do occur. */
#define JIT_MAP_LINE_MAX 16384

/*
 * Reads further whole lines until the end of the file, or until the index takes more than
 * max_memory. Starts again if the file has become shorter. 0, or a negative errno after which no
 * more can be read. Ends early at names_disable().
 */
int jit_map_read(struct jit_map *map, const struct names *names, struct jit_index *index,
		 size_t max_memory);

#endif
