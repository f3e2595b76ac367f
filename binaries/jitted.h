/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_JITTED_H
#define DP_BINARIES_JITTED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbols/module.h"

struct file_budget;
struct module_users;

/*
 * Code of a process that is in no ELF file, such as a just-in-time compiler produces: a module for
 * reports whose names are in files that the process writes (symbols/jit.h). There is one for each
 * program that a process executes. It also covers the copies of the code in its child processes.
 */
struct jitted {
	struct module *module; /* owned, with its struct jit */
	pid_t pid;
	struct jitted_store *store;
	uid_t payer;            /* in whose budget its files are */
	bool has_map, has_dump; /* has them there */
	size_t n_met;           /* by samples, so often */
	bool is_met;            /* seen by a sample; its files may be looked for */
	bool is_closed;         /* its files have been read to the end */
	uint64_t closed_ns;
	size_t n_users;     /* the process itself, mappings of processes and of snapshots */
	uint64_t idle_from; /* when it was first seen without users; 0: it has some */
	struct jitted *next;
};

/* The caller sets `names`, which own the modules, and `files`, and keeps them. */
struct jitted_store {
	struct names *names;
	struct file_budget *files; /* how many are open for whom; NULL: not counted */
	struct jitted *all;
	uint64_t looked; /* when idle ones were last looked for */
};

void jitted_store_done(struct jitted_store *store);

/* Returns one with one user, or NULL if memory is short. The store stays where it is. */
struct jitted *jitted_new(struct jitted_store *store, pid_t pid);

/* Both accept NULL. */
void jitted_hold(struct jitted *jitted);
void jitted_drop(struct jitted *jitted);

/* Whether this is the name of a jitdump of the process: "jit-PID.dump". */
bool jitted_is_dump(pid_t pid, const char *path);
/*
 * The process has mapped its jitdump. Takes over fd, which may only refer to the file (O_PATH). It has no
 * file, here and below, if its user has too many open.
 */
void jitted_set_dump(struct jitted *jitted, int fd);
/* Likewise, where its path has to be looked up in the root of one of the process's threads. */
void jitted_set_dump_path(struct jitted *jitted, pid_t thread, const char *path, uint64_t inode);

/* A sample hit its code. Looks for its files while the process runs. */
void jitted_meet(struct jitted *jitted);

/*
 * Frees those that have had no user for a minute and that nobody else refers to. users may be NULL.
 */
void jitted_store_forget(struct jitted_store *store, uint64_t time,
			 const struct module_users *users);

#endif
