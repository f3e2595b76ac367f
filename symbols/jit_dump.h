/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_JIT_DUMP_H
#define DP_SYMBOLS_JIT_DUMP_H

#include "symbols/jit_pieces.h"

/*
 * A jitdump: a binary file to which a process adds records as it generates, moves and discards code
 * (Linux, tools/perf/Documentation/jitdump-specification.txt). It has times and source lines.
 */

/*
 * Reads further whole records, until the end of the file or until there is enough, from a position that moves
 * on. 1: there is more; 0: not yet; or a negative errno after which no more can be read: -ENOEXEC for another
 * machine, byte order or version, -EBADMSG, -EFBIG, -ENOMEM.
 */
int jit_dump_read(int fd, struct jit_position *at, struct jit_pieces *to);

#endif
