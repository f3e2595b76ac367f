/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_SERVING_H
#define DP_AGENT_SERVING_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/server.h"

/* The agent's server: replaced when options change, and retried if it could not start. */
struct serving {
	struct server_options options; /* address: NULL: none */
	struct server *server;         /* NULL: none */
	struct server *old; /* ends as soon as no profile is being completed; NULL: none */
	uint64_t again_ns;  /* when to try again; 0: not */
};

/*
 * Replaces the server by one with these options. If that cannot be opened, the old one stays, unless it had the same
 * address. If a profile is being completed, serving_look() replaces it later. The strings must outlive the next
 * call. Logs errors. 0 or a negative errno.
 */
int serving_change(struct serving *s, const char *address, const char *token_file);
/* Whether an error may be temporary: an address in use or not yet there, or a token file being written. */
bool serving_may_pass(int err);
/* Tries again if it is time. */
void serving_look(struct serving *s, uint64_t now_ns);
/* Waits for profiles that are being completed. */
void serving_end(struct serving *s);

#endif
