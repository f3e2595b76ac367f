/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_SPAN_TIMES_H
#define DP_REPORT_SPAN_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

struct bytes;
struct totals;
struct view;

/* How long the calls of a probed function took: a histogram (dp_span_step()). */
struct span_times {
	const char *name; /* of the probe; the owner's */
	uint64_t min_ns;  /* samples are those in calls that took at least so long */
	uint64_t n_begun; /* calls */
	uint64_t n_long;  /* that took at least so long */
	uint64_t
		n_unbegun; /* returns of calls that began before, or had no room; not counted below */
	uint64_t n_returned[DP_SPAN_STEPS];
	/*
	 * Calls that were not seen to return, by their minimum duration according to samples: left by an exception or
	 * longjmp(), still running, or without room.
	 */
	uint64_t n_left[DP_SPAN_STEPS];
};

/* A row: calls that took from start_ns until before end_ns. */
struct span_row {
	uint64_t start_ns, end_ns;
	uint64_t n_returned, n_left;
};

/* The next step with calls, from *step 0 on, which moves on. False: there is no other one. */
bool span_times_next(const struct span_times *times, uint32_t *step, struct span_row *ret);

/* The same with the steps of each power of two together. */
bool span_times_next_power(const struct span_times *times, uint32_t *step, struct span_row *ret);

/* Calls that were not seen to return. */
uint64_t span_times_left(const struct span_times *times);

/* Writes those of totals, and the samples outside, into a record (bytes.h). */
void span_times_put(const struct totals *totals, struct bytes *to);
/* Adds what such a record has behind the name to others, and to the totals. */
void span_times_add(struct span_times *times, struct totals *totals, struct view *from);

/* Enough for what span_times_format() makes. */
#define SPAN_TIME_SIZE 32

/* Writes "850 ns", "4.19 ms", "17.2 s". */
void span_times_format(uint64_t ns, char ret[SPAN_TIME_SIZE]);

#endif
