/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_JITTED_H
#define DP_BINARIES_JITTED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbols/module.h"

struct module_users;

/*
 * Code that a process has in no ELF file, as just-in-time compilers make it: a module for
 * reports, whose names are in files that the process writes (symbols/jit.h). There is one for
 * each program that a process executes, and its children's copies of the code are of it, too.
 */
struct jitted {
	struct module *module; /* owned, with its struct jit */
	pid_t pid;
	bool is_met;    /* a sample has: its files can be found */
	bool is_closed; /* they have been read to their end */
	uint64_t closed_ns;
	size_t n_users;     /* the process itself, mappings of processes and of snapshots */
	uint64_t idle_from; /* when it was first seen to have none; 0: it has some */
	struct jitted *next;
};

/* `names`, of which the modules are, is set by its owner, and stays the caller's. */
struct jitted_store {
	struct names *names;
	struct jitted *all;
	uint64_t looked; /* when idle ones were last looked for */
};

void jitted_store_done(struct jitted_store *store);

/* With one user. NULL if memory is short. */
struct jitted *jitted_new(struct jitted_store *store, pid_t pid);

/* Both do nothing with NULL. */
void jitted_hold(struct jitted *jitted);
void jitted_drop(struct jitted *jitted);

/* Is this the name of a jitdump that the process may have written, "jit-PID.dump"? */
bool jitted_is_dump(pid_t pid, const char *path);
/* It has mapped that one; fd, which need only hold it (O_PATH), is taken over. */
void jitted_set_dump(struct jitted *jitted, int fd);

/* A sample of the process met its code: its files are found while it runs. */
void jitted_meet(struct jitted *jitted);

/*
 * Let those go that have had no user for a minute, and nobody else that refers to them; users may
 * be NULL.
 */
void jitted_store_forget(struct jitted_store *store, uint64_t time,
			 const struct module_users *users);

#endif
