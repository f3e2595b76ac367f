/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_STARTER_H
#define DP_SANDBOX_STARTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/spawned.h"
#include "sandbox/spawner.h"

/*
 * Starts helpers. If the spawner has ended, starts a new one, except in a process with a keeper (keeper.h), which
 * cannot start processes. Replaces a helper that lacks a layer which it could have. Callable from any thread.
 */
struct starter;

/* Starts the spawner (spawner.h) of `program`, for helpers of these kinds, by bit. 0 or a negative errno. */
int starter_new(const char *program, uint32_t kinds, struct starter **ret);
/* NULL is allowed. Returns NULL. */
struct starter *starter_free(struct starter *starter);

/* The PID of the spawner; 0: there is none now. */
pid_t starter_spawner(struct starter *starter);

/*
 * From now on, helpers must have all layers that they can have, and this process never does their work
 * itself. Call this before the first is started.
 */
void starter_require(struct starter *starter);
bool starter_is_required(struct starter *starter);

/*
 * Starts a helper. 0; -EAGAIN: none can be started now; -ESHUTDOWN: there will never be one, and this
 * process does the work of helpers itself, as a warning has said.
 */
int starter_start(struct starter *starter, enum spawned_kind kind, struct spawned *ret);

/*
 * Begins to start a helper, without waiting, so that the next starter_start() of this kind waits less.
 * Only for helpers that are executed: parsers, namers and verifiers. starter_start() reports failures.
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
 * Starts a parser to learn its layers, ret->confinement. 0, or a negative errno if none can be started
 * now. The caller ends it (spawned_end()).
 */
int starter_check(struct starter *starter, struct spawned *ret);

/* A helper has answered a request. */
void starter_note_answer(struct starter *starter);
bool starter_has_answered(struct starter *starter);

/*
 * Helpers start but do not work. Returns whether this process has to do their work itself, with one
 * warning. False if a helper has ever answered, as later ones may work again.
 */
bool starter_give_up(struct starter *starter, const char *why);
bool starter_is_broken(struct starter *starter);

/* The layers that confine each helper so far, by bit (confine.h); 0: none has been started. */
uint32_t starter_layers(struct starter *starter);

#endif
