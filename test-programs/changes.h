/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEST_PROGRAMS_CHANGES_H
#define DP_TEST_PROGRAMS_CHANGES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* What a thread does when, kept in memory until it is written: harness.Log reads it. */

#define MAX_CHANGES (1 << 22)

struct change {
	uint64_t time;
	long number; /* -1: it is just changing */
};

struct changes {
	struct change *of;
	size_t n;
};

/* False: there is no memory. */
static inline int changes_init(struct changes *c)
{
	c->of = malloc(MAX_CHANGES * sizeof(*c->of));
	return c->of != NULL;
}

static inline void changes_note(struct changes *c, long number)
{
	struct timespec now;

	if (c->n == MAX_CHANGES)
		abort();
	clock_gettime(CLOCK_MONOTONIC, &now);
	c->of[c->n++] = (struct change){ (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec,
					 number };
}

static inline void changes_write(const struct changes *c, int tid, FILE *to)
{
	for (size_t i = 0; i < c->n; i++)
		fprintf(to, "%d %lu %ld\n", tid, c->of[i].time, c->of[i].number);
}

static inline uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 16;
}

#endif
