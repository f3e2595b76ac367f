/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_KEEPER_H
#define DP_SANDBOX_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A process that parses what strangers have written gives up its rights (confine_reader()). What it
 * needs some for now and then, its parent does for it, which has kept them and parses nothing: this
 * little.
 *
 *     reader --- requests ---> keeper
 *       |                        | kills, and gives memory to
 *       +------ namers <---------+ those of which the reader has a pidfd
 */

/* The reader's side, for one thread. From now on, requests go through the socket. */
void keeper_use(int socket);
/* Is there one? */
bool keeper_is_there(void);
/* Kills a process; raises its RLIMIT_DATA, at most to the hard one. 0 or a negative errno. */
int keeper_kill(int pidfd);
int keeper_allow_memory(int pidfd, uint64_t size);
/* Has the file of an output begun (output_begin()), whose directory the reader may not write. */
int keeper_begin(size_t number);

/* The keeper's side: until the reader has ended. `begin` does what keeper_begin() is for. */
void keeper_serve(int socket, int (*begin)(void *arg, size_t number), void *arg);

#endif
