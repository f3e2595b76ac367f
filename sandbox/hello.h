/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_HELLO_H
#define DP_SANDBOX_HELLO_H

#include "sandbox/spawned.h"

/*
 * A helper's first message: what confines it. It is sent before the helper gets anything of
 * strangers, so it can be believed.
 */

/* What a helper says. `self`: its own pidfd, which the caller keeps. 0 or a negative errno. */
int hello_say(int socket, int self, const struct confinement *confinement);

/* Says that there will be no helper. */
void hello_refuse(int socket, int err);

/* How long a helper may take to start, on a busy machine. One that was stopped is not waited for. */
#define HELLO_PATIENCE_MS 2000

/*
 * Waits for it, at most for so long. Takes over the socket. 0; -EAGAIN: it takes too long; -EPIPE: the
 * helper has ended; or another negative errno.
 */
int hello_await(int socket, int patience_ms, struct spawned *ret);

#endif
