/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_HELLO_H
#define DP_SANDBOX_HELLO_H

#include "sandbox/spawned.h"

/*
 * A helper's first message reports its confinement. The helper sends it before it gets any untrusted data,
 * so it can be believed. For a helper that is executed, a message from its spawner precedes it:
 *
 *     spawner -- hello_announce() --> its PID
 *     helper  -- hello_say() -------> its pidfd, and its layers
 */

/* What a helper says. `self`: its own pidfd, which the caller keeps. 0 or a negative errno. */
int hello_say(int socket, int self, const struct confinement *confinement);

/* Says that there will be no helper, or which one: it must not have begun. 0 or a negative errno. */
void hello_refuse(int socket, int err);
int hello_announce(int socket, pid_t helper);

/*
 * Waits for it: until it is announced, as long as the spawner may take. Takes over the socket. 0;
 * -EAGAIN: one of them takes too long, or was stopped; -EPIPE: the helper has ended; or another
 * negative errno. hello_take() does not wait: it is for a helper that is not announced.
 */
int hello_await(int socket, pid_t spawner, struct spawned *ret);
int hello_take(int socket, struct spawned *ret);

#endif
