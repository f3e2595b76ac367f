/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_RECORD_WAIT_H
#define DP_PROFILER_RECORD_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "process/sideband.h"

struct ticks;

/*
 * Decides how long the sideband's records may wait. At a low sampling rate, most processes of a
 * busy machine start and end without a sample, so a record of a known file can wait until the next
 * sample is due. While records keep coming, they do not wake the thread that reads them. It polls
 * the rings instead, which takes no system call: shortly before each sample, and often enough to
 * open unknown files before their processes end.
 */
struct record_wait {
	uint64_t
		gather_ns; /* for how long, at first, records are gathered; 0: records never wait */
	uint64_t n_seen;   /* number of records at the last look, */
	uint64_t n_handled; /* and when records were last handled */
	uint64_t due;       /* when waiting records must be handled; 0: not known */
	uint64_t poll_at;   /* when the rings are polled next; 0: records wake the thread */
	uint64_t poll_ns;   /* the longest time between two polls; 0: records wake the thread */
	bool is_awaited;    /* some of the waiting records must be handled when they are due */
	bool gathers;       /* the last look has found the first of several records */
};

void record_wait_init(struct record_wait *ret, uint64_t gather_ns);

/* Call it when records have been handled; n_read have been read so far. */
void record_wait_restart(struct record_wait *wait, uint64_t n_read, const struct ticks *ticks,
			 uint64_t now);

/* Returns whether the records that a look has just found may wait. */
bool record_wait_allows(struct record_wait *wait, const struct sideband_look *look,
			const struct ticks *ticks, uint64_t now);

/* Returns whether the rings are polled, so that records do not have to wake the thread. */
bool record_wait_polls(const struct record_wait *wait);

/* Returns how long to wait for anything else: most_ns, or less if the rings are polled before. */
uint64_t record_wait_ns(const struct record_wait *wait, uint64_t most_ns, uint64_t now);

/* Returns when waiting records must be handled; 0: not known, or none must. */
uint64_t record_wait_due(const struct record_wait *wait);

#endif
