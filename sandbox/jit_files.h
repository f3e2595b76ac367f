/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_JIT_FILES_H
#define DP_SANDBOX_JIT_FILES_H

#include <stdint.h>

struct names;
struct parsers;

/*
 * How long a parser may compute for a part of a jitdump or perf map, and sleep if it is on a file system
 * that may not answer: samples wait.
 */
#define JIT_FILES_CPU_NS UINT64_C(500000000)
#define JIT_FILES_STUCK_NS UINT64_C(200000000)
/* How much of FETCHERS_WAITED_IN_NS may be spent on the files of one user's processes. */
#define JIT_FILES_SHARE_NS UINT64_C(2000000000)

/*
 * Jitdumps and perf maps are opened by finders, if there are any, and read by parsers from now on.
 * `parsers` is held as long as the names are there. Before the first of them is met. 0 or -ENOMEM.
 */
int jit_files_start(struct parsers *parsers, struct names *names);

#endif
