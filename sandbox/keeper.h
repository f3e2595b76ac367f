/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_KEEPER_H
#define DP_SANDBOX_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A process that parses what strangers have written gives up its rights (confine_reader()). What it
 * needs some for now and then, its parent does for it, which has kept them and parses nothing: this
 * little. It believes nothing of the reader, which may be a stranger's by then.
 *
 *     reader --- requests ---> keeper
 *       |                        | kills, and gives memory to
 *       +--- spawner, namers <---+ the reader's children, and theirs, of which it has a pidfd
 */

/* The reader's side, for one thread. From now on, requests go through the socket. */
void keeper_use(int socket);
/* Is there one? */
bool keeper_is_there(void);
/* Kills a process, itself if there is no keeper. 0 or a negative errno. */
int keeper_kill(int pidfd);
/* Raises a process's RLIMIT_DATA, at most to the hard one and KEEPER_MEMORY. 0 or a negative errno. */
int keeper_allow_memory(int pidfd, uint64_t size);
/* Has the file of an output begun (output_begin()), whose directory the reader may not write. */
int keeper_begin(size_t number);

/*
 * The keeper's side: until the reader, a child of this process, has ended or sends what is no request. The
 * reader can start no process once it has read anything. `begin` does what keeper_begin() is for.
 */
void keeper_serve(int socket, pid_t reader, int (*begin)(void *arg, size_t number), void *arg);

#endif
