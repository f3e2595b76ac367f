/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_ADDRESS_H
#define DP_AGENT_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "probes/unix_listener.h"

/* Where the agent listens: "127.0.0.1:6060", "[::1]:6060", "localhost:6060" or "unix:/PATH". */
struct address {
	struct sockaddr_storage socket;
	socklen_t size;
	bool is_local; /* only programs of this machine reach it */
};

/* No names are looked up but localhost. 0 or -EINVAL. */
int address_parse(const char *text, struct address *ret);

/* Returns a socket that listens there, or a negative errno. *ret: its file, if it has one. */
int address_listen(const struct address *address, struct unix_listener *ret);

#endif
