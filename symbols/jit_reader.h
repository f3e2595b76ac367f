/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_JIT_READER_H
#define DP_SYMBOLS_JIT_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbols/jit_pieces.h"

struct names;

/* The files that processes write about the code that they generate. */
enum jit_kind {
	JIT_DUMP, /* jit_dump.h */
	JIT_MAP,  /* jit_map.h */
	JIT_N_KINDS,
};

/* Reads one here, as jit_dump_read() and jit_map_read() do. */
int jit_file_read(enum jit_kind kind, int fd, struct jit_position *at, struct jit_pieces *to);

/*
 * Opens and reads these files in place of this process: in processes without privileges, for example
 * (sandbox/jit_files.h). `payer` is whose files they are, for whom waiting is worth only so much. Called from
 * any thread.
 */
struct jit_reader {
	/* May time be spent on this user's files now? */
	bool (*may_read)(void *arg, uid_t payer);
	/* So much was, in ns. */
	void (*charge)(void *arg, uid_t payer, uint64_t ns);
	/* As jit_map_open(). */
	int (*open_map)(void *arg, uid_t payer, int root, pid_t pid, uid_t user);
	/* As file_reopen(), or rooted_file_open() if path is not NULL. What it returns is for read(). */
	int (*open_dump)(void *arg, uid_t payer, int place, const char *path, uint64_t inode);
	/*
	 * As jit_file_read(); -EAGAIN: it cannot be read now; other errors: nothing of the file is to be read
	 * again.
	 */
	int (*read)(void *arg, uid_t payer, enum jit_kind kind, int fd, struct jit_position *at,
		    struct jit_pieces *to);
	void (*free)(void *arg);
};

/* Takes over arg. Before the first file is set. */
void names_set_jit_reader(struct names *names, const struct jit_reader *reader, void *arg);

#endif
