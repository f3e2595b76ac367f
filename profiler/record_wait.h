/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_RECORD_WAIT_H
#define DP_PROFILER_RECORD_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "process/sideband.h"

struct ticks;

/*
 * How long records of the sideband wait. At a low rate, most processes of a busy machine start and
 * end without a sample, and a record of a known file can wait for the next sample. While records
 * come, they wake nobody: they are looked at, which takes no system call, when samples are about to
 * be taken, and soon enough to open files that are not known yet.
 */
struct record_wait {
	uint64_t gather_ns; /* where nobody knows when samples are taken; 0: records never wait */
	uint64_t n_seen;    /* records that there were at the last look, */
	uint64_t n_handled; /* and when they were handled */
	uint64_t due;       /* when they have to be handled; 0: not known */
	uint64_t look;      /* when they are looked at; 0: records wake */
	uint64_t pause_ns;  /* until the next look, at most; 0: records wake */
	unsigned int n_follows; /* times in sequence that more were expected */
};

void record_wait_init(struct record_wait *ret, uint64_t gather_ns);

/* Records, so many by now, have been handled. */
void record_wait_begin(struct record_wait *wait, uint64_t n_read, const struct ticks *ticks,
		       uint64_t now);

/* Whether records that were looked at now can go on waiting. */
bool record_wait_goes_on(struct record_wait *wait, const struct sideband_look *look,
			 const struct ticks *ticks, uint64_t now);

/* Whether records wake nobody until they are looked at. */
bool record_wait_is_quiet(const struct record_wait *wait);

/* How long to wait, at most so long. */
uint64_t record_wait_ns(const struct record_wait *wait, uint64_t most_ns, uint64_t now);

/* When records that wait have to be handled; 0: no time is known, or there are none. */
uint64_t record_wait_due(const struct record_wait *wait);

#endif
