/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_LEFT_SPOOLS_H
#define DP_AGENT_LEFT_SPOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Requests that wait, in the directory of spools, for backends of which nobody has the spool open:
 * another URL, name, tenant or user was configured, or another agent does not run. They are delivered
 * once an agent delivers there again. Those that are old are removed, if nobody came for a while.
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
 * Counts them. is_news: which backends there are may have changed: it looks at once, and says what
 * waits, but removes nothing; else it says what it removes. One thread.
 */
void left_spools_look(struct left_spools *left, const struct agent_options *options, bool is_news);
/* Any thread. */
struct left_counts left_spools_counts(struct left_spools *left);

#endif
