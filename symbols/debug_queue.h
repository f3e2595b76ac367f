/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_DEBUG_QUEUE_H
#define DP_SYMBOLS_DEBUG_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/debug_server.h"

/*
 * Requests for debug files, sent one after the other by a thread, so that looking up names never waits for the network.
 * A file that no server has is requested again after some time, or when more than DEBUG_QUEUE_MAX others have been
 * requested since. If servers do not answer, requests pause for DEBUG_QUEUE_REST_NS, and after each further failure
 * for twice as long, up to DEBUG_QUEUE_MAX_REST_NS.
 */
struct debug_queue;

/* Requests that were answered, and what failed. Any thread may read them. */
struct debug_queue_counts {
	_Atomic uint64_t found, absent, failed;
};

struct debug_queue_limits {
	uint64_t request_ns; /* that one request may take */
	uint64_t absent_ns;  /* for which a file counts as one that no server has */
	uint64_t max_size;   /* of a file; larger ones count as absent */
	uint64_t max_kept;   /* of all files on disk: then the least recently used are removed */
	/* Returns how long to wait before asking again; 0: a request may begin. The other: notes its CPU time. */
	uint64_t (*pause_ns)(void *arg);
	void (*spend)(void *arg, uint64_t cpu_ns);
	void (*drop)(void *arg); /* arg is not needed any more, perhaps by the thread */
	void *arg;
	struct debug_queue_counts *counts; /* not needed after debug_queue_end() */
};

/* 0 or a negative errno; `limits` are then dropped. */
int debug_queue_new(const struct names *names, const struct debug_queue_limits *limits,
		    struct debug_queue **ret);

/* As debug_server_fetch(), debug_server_is_awaited() and debug_server_totals(). */
int debug_queue_fetch(struct debug_queue *queue, const unsigned char *build_id, size_t size,
		      uint32_t *awaited);
bool debug_queue_is_awaited(struct debug_queue *queue, uint32_t number);
struct debug_server_totals debug_queue_totals(struct debug_queue *queue);

void debug_queue_stop(struct debug_queue *queue);

/*
 * Waits for its thread, but not for long: looking up a server's name may take minutes, and the thread ends
 * by itself. NULL is allowed.
 */
void debug_queue_end(struct debug_queue *queue);

#endif
