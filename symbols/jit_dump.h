/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_JIT_DUMP_H
#define DP_SYMBOLS_JIT_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/jit_index.h"

struct names;

/*
 * A jitdump: a binary file to which a process adds records as it generates, moves and discards code
 * (Linux, tools/perf/Documentation/jitdump-specification.txt). It has times and source lines.
 */
struct jit_dump {
	int fd;            /* owned; -1: there is none */
	uint64_t position; /* of the next record; 0: the header has not been read */
	bool has_times;    /* in CLOCK_MONOTONIC, as those of samples */
	bool is_closed;    /* it has ended with JIT_CODE_CLOSE */
	/* Lines for the next piece of code: their record precedes its own. */
	uint64_t lines_address;
	struct jit_code lines;
};

void jit_dump_done(struct jit_dump *dump);

/*
 * Reads further whole records until the end of the file, or until the index takes more than
 * max_memory. 0, or a negative errno after which no more can be read: -ENOEXEC for another machine,
 * byte order or version, -EBADMSG, -E2BIG, -ENOMEM. Ends early at names_disable().
 */
int jit_dump_read(struct jit_dump *dump, const struct names *names, struct jit_index *index,
		  size_t max_memory);

#endif
