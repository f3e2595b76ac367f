/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_LEFT_SPOOLS_H
#define DP_AGENT_LEFT_SPOOLS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Requests that wait, in the directory of spools, for backends of which nobody has the spool open:
 * another URL, name, tenant or user was configured. They are delivered once that backend is configured
 * again, and removed when they are old, or too many.
 */
struct left_counts {
	uint64_t n, bytes; /* now */
	uint64_t removed;  /* requests */
};

struct left_spools {
	_Atomic uint64_t n, bytes, removed;
	uint64_t looked_ns; /* CLOCK_MONOTONIC; 0: never */
};

struct agent_options;

/* Older ones are removed, and the oldest until all together have no more than --spool-size. */
#define LEFT_SPOOLS_AGE_NS UINT64_C(604800000000000)
/* How often to look. */
#define LEFT_SPOOLS_LOOK_NS UINT64_C(600000000000)

/*
 * Counts them, and removes what is to be removed, which it says. is_news: which backends there are may
 * have changed: it looks at once, and says what waits. One thread.
 */
void left_spools_look(struct left_spools *left, const struct agent_options *options, bool is_news);
/* Any thread. */
struct left_counts left_spools_counts(struct left_spools *left);

#endif
