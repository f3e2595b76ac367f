/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_SERVING_H
#define DP_AGENT_SERVING_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/server.h"

/* The agent's server, which gives way to that of other options, and is tried again where it failed. */
struct serving {
	struct server_options options; /* address: NULL: none */
	struct server *server;         /* NULL: none */
	struct server *old; /* ends as soon as no profile is being completed; NULL: none */
	uint64_t again_ns;  /* when to try again; 0: not */
};

/*
 * The server of these options takes the place of the present one, which stays if that cannot be
 * opened, unless it was at the same address. That may have to wait, until serving_look(), for a profile
 * that is being completed. The strings must outlive the next call. Logs errors. 0 or a negative errno.
 */
int serving_change(struct serving *s, const char *address, const char *token_file);
/* Whether it may be that another program goes, an address comes, or a token is just being written. */
bool serving_may_pass(int err);
/* Tries again if it is time. */
void serving_look(struct serving *s, uint64_t now_ns);
/* Waits for profiles that are being completed. */
void serving_end(struct serving *s);

#endif
