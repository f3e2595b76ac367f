/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_CALL_TABLE_H
#define DP_SAMPLES_CALL_TABLE_H

#include "samples/label_values.h"
#include "samples/probed_code.h"

/*
 * Says which functions' calls label samples at which times, for probes that are added while sampling: up to
 * DP_MAX_LABEL_PROBES at a time, or one whose calls are timed. The kernel does not know calls that began
 * before their probe's period, although they are on the stacks of samples. One thread changes the table, and
 * another reads it, which waits only while a few numbers change.
 */
struct call_table;

/* A probe that labels samples, and its period. */
struct call_period {
	struct probed_code code;
	struct value_forms forms; /* for values that are not known; without the names of values */
	unsigned int probe;       /* its number among probes of the same time; the table sets it */
	bool is_timed;   /* samples wait until it is known how long the calls take (spans.h) */
	uint64_t min_ns; /* if is_timed: the minimum duration */
	uint32_t pids[DP_MAX_PROBE_PIDS];
	size_t n_pids;             /* 0: all processes */
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
};

#define CALL_TABLE_SIZE 64
/* How long a period is kept after its end, as samples may still be on their way. */
#define CALL_TABLE_REST_NS UINT64_C(60000000000)

/* 0 or -ENOMEM. */
int call_table_new(struct call_table **ret);
/* Accepts NULL. Returns NULL. */
struct call_table *call_table_free(struct call_table *table);

/*
 * Prepares a period with a copy of what is given, whose times do not matter. now_ns: CLOCK_MONOTONIC.
 * *ret_probe is its number. 0; an error if it conflicts with periods that have not ended: -EBUSY: there
 * are too many, or one of them or this one is timed; -EEXIST: one has the same function; -ENOTUNIQ: one
 * has a value of the same name; -E2BIG: there were too many in the last minute; or -ENOMEM.
 */
int call_table_prepare(struct call_table *table, const struct call_period *period, uint64_t now_ns,
		       unsigned int *ret_probe);
/* Sets where the kernel has the functions of a period that has not begun. */
void call_table_place(struct call_table *table, unsigned int probe,
		      const struct dp_span_places *places);
/* The period begins: calls from now on are known, and label samples until it ends. */
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
