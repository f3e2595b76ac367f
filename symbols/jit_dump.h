/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_JIT_DUMP_H
#define DP_SYMBOLS_JIT_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/jit_index.h"

struct names;

/*
 * A jitdump: a binary file that a process adds records to as it makes, moves and forgets
 * code (Linux, tools/perf/Documentation/jitdump-specification.txt). It tells times, and where
 * in the source the code is from.
 */
struct jit_dump {
	int fd;            /* owned; -1: there is none */
	uint64_t position; /* 0: its header was not there yet */
	bool has_times;    /* by CLOCK_MONOTONIC, as those of samples */
	bool is_closed;    /* its process has said that there is no more */
	/* What the next piece of code will take: its record comes before that of the code. */
	uint64_t lines_address;
	struct jit_code lines;
};

void jit_dump_done(struct jit_dump *dump);

/*
 * Read whole records on, until the end or until the index takes more memory than that. 0, or
 * a negative errno after which there is nothing more to read: -ENOEXEC for one of another
 * machine, byte order or version, -EBADMSG, -E2BIG, -ENOMEM. Ends early if `names` are not
 * wanted any more (names.h).
 */
int jit_dump_read(struct jit_dump *dump, const struct names *names, struct jit_index *index,
		  size_t max_memory);

#endif
