/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_STARTER_H
#define DP_SANDBOX_STARTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/spawned.h"
#include "sandbox/spawner.h"

/*
 * Starts helpers, by another spawner if one has ended, until one has all layers that it can have.
 * Callable from any thread.
 */
struct starter;

/* Starts the spawner (spawner.h) of `program`. 0 or a negative errno. */
int starter_new(const char *program, struct starter **ret);
/* NULL is allowed. Returns NULL. */
struct starter *starter_free(struct starter *starter);

/* The PID of the spawner; 0: there is none now. */
pid_t starter_spawner(struct starter *starter);

/*
 * From now on, helpers lack no layer that they can have, and this process does nothing itself that is
 * theirs. To be called before the first is started.
 */
void starter_require(struct starter *starter);
bool starter_is_required(struct starter *starter);

/*
 * 0; -EAGAIN: none can be started now; -ESHUTDOWN: there will never be one, and this process does
 * itself what is theirs, as a warning has said.
 */
int starter_start(struct starter *starter, enum spawned_kind kind, struct spawned *ret);

/*
 * Has one start that the next starter_start() of this kind will wait for less, and without waiting for
 * it itself. Only for helpers that are executed: parsers, namers and verifiers. It may fail: starter_start() says so.
 */
void starter_prepare(struct starter *starter, enum spawned_kind kind);

/*
 * The same without waiting: *ret_socket is readable when there is something for starter_finish(), which
 * takes it over. 0 or -EAGAIN.
 */
int starter_begin(struct starter *starter, enum spawned_kind kind, int *ret_socket);
int starter_finish(struct starter *starter, enum spawned_kind kind, int socket,
		   struct spawned *ret);

/*
 * Starts a parser, of which ret->confinement says what confines it. 0 or a negative errno: there can
 * be none now. The caller ends it (spawned_end()).
 */
int starter_check(struct starter *starter, struct spawned *ret);

/* A helper has done what it is for. */
void starter_note_answer(struct starter *starter);
bool starter_has_answered(struct starter *starter);

/*
 * Helpers start and are of no use. Returns whether this process has to do itself what is theirs. It
 * says so once; not if one has ever answered: then it may be better later.
 */
bool starter_give_up(struct starter *starter, const char *why);
bool starter_is_broken(struct starter *starter);

/* The layers that confine each helper so far, by bit (confine.h); 0: none has been started. */
uint32_t starter_layers(struct starter *starter);

#endif
