/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_PROBE_PEER_H
#define DP_PROFILER_PROBE_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "profiler/probe_server.h"

/* One who is connected: the part of a request that has arrived. */
struct probe_peer {
	int fd; /* -1: nobody */
	struct ucred who;
	size_t number; /* the how manieth it is */
	char text[PROBE_REQUEST_MAX + 1];
	size_t size;
	int fds[PROBE_REQUEST_FDS]; /* the peer's descriptors */
	size_t n_fds;
};

/* Takes over a connected socket. 0 or a negative errno. */
int probe_peer_init(struct probe_peer *ret, int fd, size_t number);
void probe_peer_done(struct probe_peer *peer);

/*
 * Reads what has arrived, without waiting. 1: a request is in `text`, which probe_peer_next() takes
 * away; 0: not yet; -ECONNRESET: the peer has gone; -EMSGSIZE: it sends too much.
 */
int probe_peer_read(struct probe_peer *peer);
void probe_peer_next(struct probe_peer *peer);

/* Sends a line, without waiting. 0, or a negative errno: the peer does not read. */
int probe_peer_send(const struct probe_peer *peer, const char *line);

#endif
