/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_DEBUG_SERVER_H
#define DP_SYMBOLS_DEBUG_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debug_queue_limits;
struct names;

/*
 * Debug files by build id from the servers in the environment variable DEBUGINFOD_URLS, through
 * libdebuginfod (debug_library.h). No request is sent without that variable or before
 * debug_server_allow() or debug_server_allow_meanwhile(), so that look-ups during sampling never wait
 * for the network. Each struct names has one of these (names_debug_server()); any thread may use it.
 */
struct debug_server;

/* Requests end at names_disable(). NULL if memory is short. */
struct debug_server *debug_server_new(const struct names *names);
/* NULL is allowed. */
void debug_server_free(struct debug_server *server);

/* Results so far. */
struct debug_server_totals {
	unsigned int n_asked, n_found; /* build ids */
	unsigned int n_left_out;       /* of n_asked, because time was up */
	const char *error;             /* why no server can be asked; NULL: it can */
	int server_err; /* why no server has answered of late (debug_queue.h); 0: one has */
	int file_err;   /* the last other error of getting a file; 0: none */
};

/*
 * Allows requests from now on, for time_ns in total. Calls `progress` with the file of each request
 * and the number of bytes received so far; NULL: no progress is reported.
 */
void debug_server_allow(struct debug_server *server, uint64_t time_ns,
			void (*progress)(const char *path, long done));

/*
 * Before any look-up, in place of debug_server_allow(): a thread sends requests (debug_queue.h), and
 * nobody waits for it. 0 or a negative errno.
 */
int debug_server_allow_meanwhile(struct debug_server *server,
				 const struct debug_queue_limits *limits);

/* Then, whether it is not yet worth asking again. */
bool debug_server_is_awaited(struct debug_server *server, uint32_t number);

/* Then, sends no more, and ends the present one soon. */
void debug_server_stop(struct debug_server *server);

/* Whether who asks may wait for a server now and there is one. */
bool debug_server_is_allowed(struct debug_server *server);

/*
 * Returns a descriptor of the debug file with a build id; -1: there is none, or requests are not allowed.
 * Where a thread sends them, *awaited is then the number of one, above 0, unless none can be sent.
 */
int debug_server_fetch(struct debug_server *server, const unsigned char *build_id, size_t size,
		       const char *path, uint32_t *awaited);

/*
 * From now on, all requests go to `fetch`, at any time: for a process that another one finds files
 * for. It returns a descriptor or -1.
 */
void debug_server_replace(struct debug_server *server,
			  int (*fetch)(const unsigned char *build_id, size_t size));

struct debug_server_totals debug_server_totals(struct debug_server *server);

/* Ends requests and forgets all earlier ones except for the totals. */
void debug_server_end(struct debug_server *server);

#endif
