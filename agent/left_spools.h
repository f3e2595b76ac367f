/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_LEFT_SPOOLS_H
#define DP_AGENT_LEFT_SPOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Orphaned spools: requests for a backend whose spool no agent has open, because its URL, name, tenant or user was
 * changed, or because another agent has stopped. An agent with that backend delivers them. Otherwise old requests
 * are removed once the spool has been orphaned for a while.
 */
struct left_counts {
	uint64_t n, bytes; /* now */
	uint64_t removed;  /* requests */
};

struct left_spools {
	_Atomic uint64_t n, bytes, removed;
	uint64_t looked_ns; /* CLOCK_MONOTONIC; 0: never */
	int err;            /* of the last look, which has been said; 0 or an errno */
};

struct agent_options;

/* The age from which requests are removed. */
#define LEFT_SPOOLS_AGE_NS UINT64_C(604800000000000)
/* How long a spool must be left before, as a file in it tells (SPOOL_LEFT): agents may be restarted. */
#define LEFT_SPOOLS_KNOWN_NS UINT64_C(3600000000000)
/* How often to look. */
#define LEFT_SPOOLS_LOOK_NS UINT64_C(600000000000)

/*
 * Counts them. is_news: the backends may have changed, so look at once and log what is pending, but remove
 * nothing; otherwise remove old requests and log that. One thread.
 */
void left_spools_look(struct left_spools *left, const struct agent_options *options, bool is_news);
/* Any thread. */
struct left_counts left_spools_counts(struct left_spools *left);

#endif
