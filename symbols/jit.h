/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_JIT_H
#define DP_SYMBOLS_JIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbols/location.h"

/*
 * The names of the code that a process generates at run time, from the files that it writes for
 * profilers: a jitdump and a perf map. The files are read when a name is looked up, and read on as
 * they grow; the process may have ended by then.
 *
 * All functions may be called from any thread, and jit_set_...() do not wait for a file. The result
 * of jit_find() lives until its next call.
 */
struct jit;
struct names;

/* 0 or -ENOMEM. `names` must outlive it. */
int jit_new(struct names *names, struct jit **ret);
struct jit *jit_free(struct jit *jit);

/*
 * Sets where the perf map is: /tmp/perf-PID.map below the directory `root`, which is taken over.
 * `pid` is the process's number in its own PID namespace. The map must be a regular file of this
 * user or of root. `payer` here and below: whose process it is, for a reader (jit_reader.h).
 */
void jit_set_root(struct jit *jit, int root, pid_t pid, uid_t user, uid_t payer);

/* The process has mapped a jitdump. Takes over fd, which may only refer to the file (O_PATH). */
void jit_set_dump(struct jit *jit, int fd, uid_t payer);

/* Likewise; it has this path and inode in the process's root, which is taken over. */
void jit_set_dump_path(struct jit *jit, int root, const char *path, uint64_t inode, uid_t payer);

/*
 * Adds a function and a place in it, of a recording or a runtime: names are copied; `file` may be "", too,
 * if unknown; `dir` and `inlined` are not used. *ret is for jit_find(). 0, -ENOMEM or -E2BIG.
 */
int jit_add(struct jit *jit, const struct source_location *location, uint64_t *ret);

/*
 * Counts memory for names that a struct code_source keeps, until jit_free(). False, and not counted: it
 * would be more than the limits above. Does not wait.
 */
bool jit_take_memory(struct jit *jit, size_t size);

/* The process writes no more: reads the files to their end and closes them. */
void jit_close(struct jit *jit);

/*
 * Finds the code that was at an address at a time (CLOCK_MONOTONIC ns). Call it soon, as the
 * address may be reused. Returns a unique number for jit_find(), or the address itself if its code
 * is not known yet.
 */
uint64_t jit_locate(struct jit *jit, uint64_t address, uint64_t time);

/* Finds the location for a result of jit_locate(). False: it is in no known function. */
bool jit_find(struct jit *jit, uint64_t located, bool lines, const struct source_location **ret);

#endif
