/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_JIT_EXCESS_H
#define DP_SYMBOLS_JIT_EXCESS_H

#include <stddef.h>
#include <stdint.h>

struct limit_hits;
struct names;

/* Returns how many bytes a process's JIT names may take in all. own: bytes that they take now. */
size_t jit_memory_left(const struct names *names, uint64_t own);

/*
 * Warns that a jitdump or perf map is too large (-EFBIG, -E2BIG), or that the memory for all JIT names is used
 * up (-ENOSPC); ignores other errors. Warns once of each, because any process can write many such files.
 */
void jit_excess_tell(struct names *names, int fd, int err);

/* Limits leave out names of such a file: says so, if it was not said before of these (*said). */
void jit_excess_tell_limits(struct names *names, int fd, const struct limit_hits *hits,
			    struct limit_hits *said);

#endif
