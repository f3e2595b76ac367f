/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_VALUE_TABLE_H
#define DP_SAMPLES_VALUE_TABLE_H

#include <stdint.h>
#include <sys/types.h>

#include "samples/label_values.h"

/*
 * The formats of values of probes that are added while sampling: the forms of each list of arguments
 * (struct dp_values), by its number. One thread changes the table, and another reads it, which waits for a few
 * instructions at most.
 */
struct value_table;

/*
 * The label with the name of the probe that a sample is a hit of, whatever the program says. Those of others than
 * root begin with `UID:`, as root's do not (added_probe.c).
 */
#define VALUE_TABLE_PROBE "probe"

/* How long a number is not used again, as samples with it may be on their way. */
#define VALUE_TABLE_REST_NS UINT64_C(60000000000)

/* 0 or -ENOMEM. */
int value_table_new(struct value_table **ret);
/* Accepts NULL. Returns NULL. */
struct value_table *value_table_free(struct value_table *table);

/*
 * Keeps a copy of forms, but takes over their names of values, and the name of their probe, which is a user's.
 * now_ns: CLOCK_MONOTONIC. Returns the number; -E2BIG: none is free; -EDQUOT: the user has as many as they may;
 * or -ENOMEM: then nothing is taken.
 */
int value_table_add(struct value_table *table, const struct value_forms *forms, const char *probe,
		    uid_t user, uint64_t now_ns);
/* Frees the number for reuse VALUE_TABLE_REST_NS after now_ns. */
void value_table_drop(struct value_table *table, uint32_t number, uint64_t now_ns);

/*
 * The forms of a number, and the name of their probe, until value_table_unlock(); NULL: it is not known.
 */
const struct value_forms *value_table_lock(struct value_table *table, uint32_t number,
					   const char **ret_probe);
void value_table_unlock(struct value_table *table);

#endif
