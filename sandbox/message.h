/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_MESSAGE_H
#define DP_SANDBOX_MESSAGE_H

#include <stddef.h>

/*
 * Messages between this program and its helpers: a value of fixed size and some descriptors, over a
 * socket of type SOCK_SEQPACKET (unix(7)). Both ends are of the same build, so values are passed as
 * they are in memory. A receiver trusts neither the value nor the descriptors.
 */

#define MESSAGE_MAX_FDS 3

/*
 * Sends copies of the descriptors, which the caller keeps. 0, -EPIPE if the other end is closed (for
 * one that is just being closed, the kernel says ECONNREFUSED before Linux 6.10), or another
 * negative errno.
 */
int message_send(int socket, const void *value, size_t size, const int *fds, size_t n_fds);

/*
 * Waits for a message of exactly `size` bytes. Missing descriptors are -1; the caller closes the
 * others. 0, -EPIPE if the other end is closed, -EPROTO for any other message, or
 * another negative errno.
 */
int message_receive(int socket, void *ret, size_t size, int ret_fds[MESSAGE_MAX_FDS]);

/* Closes those that are not -1, and sets all to -1. */
void message_close(int fds[MESSAGE_MAX_FDS]);

#endif
