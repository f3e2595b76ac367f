/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_JIT_EXCESS_H
#define DP_SYMBOLS_JIT_EXCESS_H

struct names;

/* Warns of a jitdump or perf map that is too large. Anyone can write many: only of the first one. */
void jit_excess_tell(struct names *names, int fd);

#endif
