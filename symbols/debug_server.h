/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_DEBUG_SERVER_H
#define DP_SYMBOLS_DEBUG_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct names;

/*
 * Debug files from the servers in the environment's DEBUGINFOD_URLS, by build id, through
 * libdebuginfod, which keeps them on disk. Without that variable nothing is ever asked, nor
 * before debug_server_allow(): names that are looked up while samples are taken do
 * not wait for a network. Each struct names has one of these (names_debug_server()), which
 * any thread may use. The library is loaded once for the process, by whoever asks first, and stays.
 */
struct debug_server;

/* Questions end when names are not wanted any more (names.h). NULL if memory is short. */
struct debug_server *debug_server_new(const struct names *names);
/* NULL is nothing. */
void debug_server_free(struct debug_server *server);

/* What came of it. */
struct debug_server_totals {
	unsigned int n_asked, n_found; /* build ids */
	unsigned int n_left_out;       /* of those asked, for want of time */
	const char *error;             /* why none can be asked; NULL: they can */
};

/*
 * From now on ask, for so long in all (ns). `progress` is told of what file each question
 * is and how many bytes have come; NULL: nobody is.
 */
void debug_server_allow(struct debug_server *server, uint64_t time_ns,
			void (*progress)(const char *path, long done));

/* May servers be asked by now, and is there any? */
bool debug_server_is_allowed(struct debug_server *server);

/* The debug file of a build id; -1: there is none, or none may be asked for. */
int debug_server_fetch(struct debug_server *server, const unsigned char *build_id, size_t size,
		       const char *path);

struct debug_server_totals debug_server_totals(struct debug_server *server);

/* From now on ask no more, and forget what was asked for, but for the totals. */
void debug_server_end(struct debug_server *server);

#endif
