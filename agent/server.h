/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_SERVER_H
#define DP_AGENT_SERVER_H

#include <stdbool.h>

#include "agent/figures.h"

struct pulls;
struct recent;

/*
 * Answers HTTP requests, in a thread of its own:
 *
 *   /debug/pprof/profile?seconds=N   CPU time of the next seconds, as pprof
 *   /debug/pprof/fgprof?seconds=N    with the time off the CPU
 *   those of the next seconds: &pid=N &comm=NAME &cgroup=PATH
 *   /flame-graph                     the last minute as SVG, at once; &comm=NAME
 *   /flame-graph?seconds=N           the next seconds
 *   /metrics, /healthz, /status      what the agent does (figures.h)
 */
struct server;

struct server_options {
	const char *address; /* address.h */
	const char
		*token_file; /* its first line is the token that requests must have; NULL: none */
	bool is_again;       /* a retry: temporary errors have been logged already */
	struct pulls *pulls;
	struct recent *recent;
	void (*figures)(void *arg, struct figures *ret); /* called by the server's thread */
	void *arg;
};

/*
 * Copies the options. An address that is not local needs a token (-EACCES). Logs errors. 0 or a
 * negative errno.
 */
int server_open(const struct server_options *options, struct server **ret);
/* As given. */
const struct server_options *server_options(const struct server *server);
/* Whether its token is the one now in that file; NULL: whether it has none. */
bool server_has_token(const struct server *server, const char *token_file);
/* Gives up the profiles of clients that have gone. Accepts NULL. */
void server_look(struct server *server);
/* Close the pulls before. Accepts NULL. Returns NULL. */
struct server *server_close(struct server *server);

#endif
