/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_JIT_FILES_H
#define DP_SANDBOX_JIT_FILES_H

#include <stdint.h>

struct names;
struct parsers;

/*
 * From now on, finders, if there are any, open jitdumps and perf maps, and parsers read them. Holds
 * `parsers` as long as the names exist. Call this before the first such file. 0 or -ENOMEM.
 */
int jit_files_start(struct parsers *parsers, struct names *names);

#endif
