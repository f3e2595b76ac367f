/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_PROBE_PEER_H
#define DP_PROBES_PROBE_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "limits/limits.h"
#include "probes/probe_server.h"
#include "sandbox/given.h"

struct finders;

/* All who are in other user namespaces, as one: see is_of_namespace(), probe_server.c. */
#define PROBE_PEER_STRANGER ((uid_t)-2)

/* A client: the part of its request that has arrived, or of the answer that has not been sent. */
struct probe_peer {
	int fd; /* -1: nobody */
	struct ucred who;
	size_t number; /* counts connections: a larger number connected later */
	size_t turn;   /* when it was served last; 0: not yet */
	bool is_ready; /* to be served */
	char text[PROBE_REQUEST_MAX + 1];
	size_t size;
	int file; /* refers to the first file that was given (O_PATH); negative: there is none */
	struct given_file given[PROBE_REQUEST_FDS];
	size_t n_given;
	char *answer; /* NULL: there is none */
	size_t answer_size, n_sent;
	uint64_t since_ns; /* when the first part of the request came, or the answer was begun */
};

/* Reads the credentials of the client. 0 or a negative errno. */
int probe_peer_know(int fd, struct ucred *ret);
/* Takes over the socket. */
void probe_peer_init(struct probe_peer *ret, int fd, const struct ucred *who, size_t number);
void probe_peer_done(struct probe_peer *peer, struct finders *finders);

/*
 * Reads what has arrived, without waiting. 1: `text` has a request, which probe_peer_next() removes; 0: not yet;
 * -ECONNRESET: the peer has gone; -EMSGSIZE: it sends too much; or an error of finders_receive(), to be sent to the
 * peer.
 */
int probe_peer_read(struct probe_peer *peer, struct finders *finders);
void probe_peer_next(struct probe_peer *peer);

/*
 * Sends a line, without waiting, and takes it over. 0; 1: probe_peer_go_on(), which returns the same, has to send the
 * rest once the peer has read some; or a negative errno.
 */
int probe_peer_send(struct probe_peer *peer, char *line);
int probe_peer_go_on(struct probe_peer *peer);
/*
 * Does it wait for us: has it sent a whole request, or is an answer being sent? Does not see a line that follows unread
 * bytes with descriptors.
 */
bool probe_peer_waits(const struct probe_peer *peer);
/* Does it take too long? now_ns: CLOCK_MONOTONIC. */
bool probe_peer_is_slow(const struct probe_peer *peer, uint64_t now_ns);

#endif
