/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_DEBUG_SERVER_H
#define DP_SYMBOLS_DEBUG_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Debug files from the servers in the environment's DEBUGINFOD_URLS, by build id, through
 * libdebuginfod, which keeps them on disk. Without that variable nothing is ever asked, nor
 * before debug_server_allow(): names that are looked up while samples are taken do
 * not wait for a network.
 */

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
void debug_server_allow(uint64_t time_ns, void (*progress)(const char *path, long done));

/* May servers be asked by now, and is there any? */
bool debug_server_is_allowed(void);

/* The debug file of a build id; -1: there is none, or none may be asked for. */
int debug_server_fetch(const unsigned char *build_id, size_t size, const char *path);

struct debug_server_totals debug_server_totals(void);

/* Free what is known of questions. */
void debug_server_done(void);

#endif
