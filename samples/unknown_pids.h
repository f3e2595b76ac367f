/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_UNKNOWN_PIDS_H
#define DP_SAMPLES_UNKNOWN_PIDS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dp_sample;
struct process_table;

/* The processes of samples that are not in the process table yet. Zeroed, there are none. */
struct unknown_pids {
	pid_t *all; /* owned */
	size_t n, size;
};

void unknown_pids_done(struct unknown_pids *unknown);

/* Notes the process of a sample, unless it is known or has no mappings. 0 or -ENOMEM. */
int unknown_pids_note(struct unknown_pids *unknown, const struct process_table *table,
		      const struct dp_sample *sample);

/*
 * Adds them to the process table, and publishes it, once the records that may report them have been read.
 * now: CLOCK_MONOTONIC, in ns. 0 or a negative errno.
 */
int unknown_pids_take_in(struct unknown_pids *unknown, struct process_table *table, uint64_t now);

#endif
