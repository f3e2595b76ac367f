/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_JIT_FILES_H
#define DP_SANDBOX_JIT_FILES_H

#include <stdint.h>

struct names;
struct parsers;

/*
 * Jitdumps and perf maps are opened by finders, if there are any, and read by parsers from now on.
 * `parsers` is held as long as the names are there. Before the first of them is met. 0 or -ENOMEM.
 */
int jit_files_start(struct parsers *parsers, struct names *names);

#endif
