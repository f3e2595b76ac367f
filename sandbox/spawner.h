/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_SPAWNER_H
#define DP_SANDBOX_SPAWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A small process that starts helpers. It first closes all descriptors except its socket. It executes
 * each helper anew, so that none inherits memory or descriptors; only helpers that parse nothing are
 * forked, to start at once. It ends when its socket is closed, however this process ends, and so do the
 * helpers.
 *
 *     this process -- spawner -- helper (parser.h)
 *          \______________________/ their own socket
 */
struct spawner;

enum spawned_kind {
	SPAWNED_PARSER,
	SPAWNED_NAMER,
	SPAWNED_VERIFIER,
	SPAWNED_FETCHER,
	SPAWNED_FINDER,
	SPAWNED_N_KINDS,
};
#define SPAWNED_ALL ((1U << SPAWNED_N_KINDS) - 1)
/* Those of a process that reads recordings: none reads the memory of others. */
#define SPAWNED_FOR_READERS (1U << SPAWNED_PARSER | 1U << SPAWNED_NAMER | 1U << SPAWNED_FINDER)

/* The name that this program is executed by as a helper. Its first argument is the kind of helper. */
#define SPAWNER_HELPER_NAME "dwarfprof-helper"

/*
 * Starts it. `program` is the program that calls helper_main() (helper.h). `kinds`: by bit, all that it ever
 * starts, whoever has its socket; without fetchers, it has no capabilities but theirs. 0 or a negative errno.
 */
int spawner_new(const char *program, uint32_t kinds, struct spawner **ret);
/* Sends the signal. It may be sent again. NULL is allowed. */
void spawner_kill(const struct spawner *spawner);
/* Gives it 0.1 s to end by itself, or ends it. NULL is allowed. Returns NULL. */
struct spawner *spawner_free(struct spawner *spawner);

/*
 * Has a helper started, without waiting for it: hello_await(*ret_socket, *ret_pid), with the spawner's
 * PID. 0 or a negative errno: -EPIPE if the spawner has ended, -EAGAIN if it does not take requests.
 */
int spawner_request(struct spawner *spawner, enum spawned_kind kind, pid_t *ret_pid,
		    int *ret_socket);

pid_t spawner_pid(const struct spawner *spawner);
/* Has it ended? */
bool spawner_has_ended(const struct spawner *spawner);

/* What the spawner does: serves requests on a socket until it is closed. Returns an exit status. */
int spawner_run(int socket, uint32_t kinds);

#endif
