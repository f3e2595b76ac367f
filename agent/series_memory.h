/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_SERIES_MEMORY_H
#define DP_AGENT_SERIES_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct label_set;

/*
 * The sets of labels that a backend has received recently, across intervals. The backend keeps an index of each
 * set, so a limit per interval would not bound its memory. Sets in use are never evicted; a set without samples for
 * SERIES_MEMORY_NS is, because backends count a series as active for about as long. So short-lived containers cost
 * a backend at most the limit of new sets in that time, and a long-lived service eventually gets its own set. Not
 * persistent. Any thread.
 */
struct series_memory;

#define SERIES_MEMORY_NS (UINT64_C(20) * 60 * 1000000000)

/* 0 or -ENOMEM. */
int series_memory_new(struct series_memory **ret);
/* Accepts NULL. Returns NULL. */
struct series_memory *series_memory_free(struct series_memory *memory);

/* Forgets what was not used lately. The times are CLOCK_MONOTONIC. */
void series_memory_forget(struct series_memory *memory, uint64_t now_ns);

/* A set of labels, as bytes. */
struct series_set {
	const void *bytes;
	size_t size;
	const struct label_set *service; /* that it counts against; NULL: none */
};

/*
 * Sets *ret to whether the backend has this set, or gets it now, as one of at most `max`. 0 or
 * -ENOMEM.
 */
int series_memory_use(struct series_memory *memory, const struct series_set *set, size_t max,
		      uint64_t now_ns, bool *ret);

/* The number of sets of a service. */
size_t series_memory_of(struct series_memory *memory, const struct label_set *service);

#endif
