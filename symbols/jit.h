/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_JIT_H
#define DP_SYMBOLS_JIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbols/location.h"

/*
 * The names of the code that one process makes while it runs, from what it writes down for
 * profilers: a jitdump and a perf map. Files are read, and read on as they grow, when
 * a name is asked for, which may be when the process is gone.
 *
 * All functions may be called from any thread, and jit_set_...() wait for no file; what jit_find()
 * returns lives until the next call of it.
 */
struct jit;
struct names;

/*
 * Memory that the names of one process may take, and those of all of a struct names together, in
 * bytes, about. What comes after that has no names.
 */
#define JIT_MEMORY (UINT64_C(64) << 20)
#define JIT_MEMORY_ALL (UINT64_C(256) << 20)

/* 0 or -ENOMEM. `names` must outlive it. */
int jit_new(struct names *names, struct jit **ret);
struct jit *jit_free(struct jit *jit);

/*
 * Where its perf map will be looked for: /tmp/perf-PID.map below the directory `root`, which
 * is taken over, as the process `pid` of its own PID namespace. The map must be a file
 * of that user or of root's.
 */
void jit_set_root(struct jit *jit, int root, pid_t pid, uid_t user);

/* The process has mapped a jitdump; fd, which need only hold it (O_PATH), is taken over. */
void jit_set_dump(struct jit *jit, int fd);

/*
 * A function, and a line of it, that were found earlier and are told by a recording: `file`
 * "" and `line` 0 if they are not known. *ret is for jit_find(). 0, -ENOMEM, -E2BIG.
 */
int jit_add(struct jit *jit, const char *function, const char *file, unsigned int line,
	    uint64_t *ret);

/* Nothing is written any more: read what there is, and close the files. */
void jit_close(struct jit *jit);

/*
 * Find the piece of code that was at an address at a time (CLOCK_MONOTONIC ns), now, as
 * the address may be that of another one soon. Returns what tells it from all others, for
 * jit_find(); the address itself if it is not known yet.
 */
uint64_t jit_locate(struct jit *jit, uint64_t address, uint64_t time);

/* The place of what jit_locate() has returned; false if it is in no function that is known. */
bool jit_find(struct jit *jit, uint64_t located, bool lines, const struct source_location **ret);

#endif
