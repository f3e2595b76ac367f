/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_DELIVER_PATIENCE_H
#define DP_DELIVER_PATIENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Chooses the request to try next, and gives up the oldest if the backend will never accept it, so that it does not
 * block the others. After PATIENCE_ATTEMPTS and some minutes, others are tried in turn. Each time one of them is
 * delivered, the oldest is tried again; when that has failed PATIENCE_PROOFS times, the request itself is to blame. A
 * single failure could be a coincidence: the backend went down, or a token expired, just then. While the backend is
 * away, nothing is given up. Initialized to zero.
 */
struct patience {
	uint64_t number; /* the oldest request's */
	uint64_t since_ns;
	unsigned int n; /* its failures */
	size_t n_others;
	bool takes_others;
	unsigned int n_proofs; /* its failures while others were taken */
};

#define PATIENCE_ATTEMPTS 5
#define PATIENCE_PROOFS 2

/* The place of the request to try (spool_take()). The times are CLOCK_MONOTONIC. */
size_t patience_choose(struct patience *p, uint64_t oldest, uint64_t limit_ns, uint64_t now_ns);

/*
 * The chosen one cannot be taken now; `blamed`: it may be its own fault. True: it is given up.
 */
bool patience_fail(struct patience *p, size_t chosen, bool blamed);

/* The chosen one was delivered. */
void patience_succeed(struct patience *p, size_t chosen);

#endif
