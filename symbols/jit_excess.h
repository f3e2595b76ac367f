/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_JIT_EXCESS_H
#define DP_SYMBOLS_JIT_EXCESS_H

#include <stddef.h>
#include <stdint.h>

struct limit_hits;
struct names;

/* How much names of a process's generated code may take, in bytes: own is what they take already. */
size_t jit_memory_left(const struct names *names, uint64_t own);

/*
 * Warns of a jitdump or perf map that is too large, if that is the error (-EFBIG, -E2BIG), or that all
 * together have taken what there is (-ENOSPC). Anyone can write many: once of each.
 */
void jit_excess_tell(struct names *names, int fd, int err);

/* Limits leave out names of such a file: says so, if it was not said before of these (*said). */
void jit_excess_tell_limits(struct names *names, int fd, const struct limit_hits *hits,
			    struct limit_hits *said);

#endif
