/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_SPAWNER_H
#define DP_SANDBOX_SPAWNER_H

#include <sys/types.h>

/*
 * A small process that starts helpers. It closes all descriptors but its socket before anything
 * else, and executes each helper anew, so none inherits memory or descriptors. It ends when its socket is closed,
 * however this process ends, and so do the helpers.
 *
 *     this process -- spawner -- helper (parser.h)
 *          \______________________/ their own socket
 */
struct spawner;

/* A helper: the socket to talk to it, and what to end it by. */
struct spawned {
	int socket;
	int pidfd;
	pid_t pid;
};

/* The name that this program is executed by as a helper. Its first argument is the kind of helper. */
#define SPAWNER_HELPER_NAME "dwarfprof-helper"

/*
 * Starts it. `program` is the program that calls helper_main() (helper.h). spawner_free() waits for
 * its end. 0 or a negative errno.
 */
int spawner_new(const char *program, struct spawner **ret);
/* NULL is allowed. Returns NULL. */
struct spawner *spawner_free(struct spawner *spawner);

/*
 * Starts a helper. Not thread-safe. 0 or a negative errno: -EPIPE, -EAGAIN if the spawner has ended or
 * does not answer.
 */
int spawner_start(struct spawner *spawner, struct spawned *ret);

/* What the spawner does: serves requests on a socket until it is closed. Returns an exit status. */
int spawner_run(int socket);

#endif
