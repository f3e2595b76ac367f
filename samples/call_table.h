/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_CALL_TABLE_H
#define DP_SAMPLES_CALL_TABLE_H

#include "samples/label_values.h"
#include "samples/probed_code.h"

/*
 * At which times the calls of which functions label samples, of probes that are added while others are
 * sampled: of up to DP_MAX_LABEL_PROBES at a time, or of one whose calls are timed. A call that began before
 * its time is on the stack of samples, but the kernel does not know it. One thread changes the table, and
 * another one reads it, which does not wait for more than it takes to change a few numbers.
 */
struct call_table;

/* What labels samples for a time. */
struct call_period {
	struct probed_code code;
	struct value_forms forms; /* without the names of values; of what is not known */
	unsigned int probe;       /* its number among those of the same time; the table sets it */
	bool is_timed;   /* samples wait until it is known how long the calls take (spans.h) */
	uint64_t min_ns; /* then: the least time */
	uint32_t pids[DP_MAX_PROBE_PIDS];
	size_t n_pids;             /* 0: all processes */
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
};

#define CALL_TABLE_SIZE 64
/* So long a period is kept: samples from then may be on their way. */
#define CALL_TABLE_REST_NS UINT64_C(60000000000)

/* 0 or -ENOMEM. */
int call_table_new(struct call_table **ret);
/* Accepts NULL. Returns NULL. */
struct call_table *call_table_free(struct call_table *table);

/*
 * Prepares a period with a copy of what is given, whatever its times. now_ns: CLOCK_MONOTONIC. Sets its number.
 * Of those that have been prepared or begun, and have not ended: -EBUSY: there are too many, or one is timed, or
 * this one is; -EEXIST: one is of the same function; -ENOTUNIQ: or has a value of the same name. -E2BIG: there were
 * too many in the last minute; -ENOMEM.
 */
int call_table_prepare(struct call_table *table, const struct call_period *period, uint64_t now_ns,
		       unsigned int *ret_probe);
/* Of a period that has not begun: where the kernel has its functions. */
void call_table_place(struct call_table *table, unsigned int probe,
		      const struct dp_span_places *places);
/* All calls that begin from now on are known; they label samples until the end. */
void call_table_begin(struct call_table *table, unsigned int probe, uint64_t now_ns);
void call_table_end(struct call_table *table, unsigned int probe, uint64_t now_ns);

/*
 * The periods that label a process's samples of a time, by their numbers, until call_table_unlock(); NULL:
 * none. Returns the one that is timed, or NULL.
 */
const struct call_period *call_table_lock(struct call_table *table, uint64_t time_ns, uint32_t pid,
					  const struct call_period *ret[DP_MAX_LABEL_PROBES]);
void call_table_unlock(struct call_table *table);

#endif
