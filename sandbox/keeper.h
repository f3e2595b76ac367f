/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_KEEPER_H
#define DP_SANDBOX_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A process that parses untrusted input, the reader, gives up its privileges (confine_reader()). Its parent, the
 * keeper, retains them, parses nothing, and performs the few privileged operations below on request. It trusts
 * nothing that the reader sends, because an attacker may control the reader by then.
 *
 *     reader --- requests ---> keeper
 *       |                        | kills, and raises the memory limit of,
 *       +--- spawner, namers <---+ the reader's descendants, each named by a pidfd
 */

/* The reader's side, for one thread. From now on, requests go through the socket. */
void keeper_use(int socket);
/* Is there one? */
bool keeper_is_there(void);
/* Kills a process, itself if there is no keeper. 0 or a negative errno. */
int keeper_kill(int pidfd);
/* Raises a process's RLIMIT_DATA, at most to the hard one and KEEPER_MEMORY. 0 or a negative errno. */
int keeper_allow_memory(int pidfd, uint64_t size);
/* Creates an output's file (output_begin()) in a directory that the reader may not write to. */
int keeper_begin(size_t number);

/*
 * The keeper's side: serves requests until the reader, a child of this process, ends or sends an invalid one.
 * The reader cannot start processes once it has read anything. `begin` carries out keeper_begin().
 */
void keeper_serve(int socket, pid_t reader, int (*begin)(void *arg, size_t number), void *arg);

#endif
