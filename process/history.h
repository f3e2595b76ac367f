/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_HISTORY_H
#define DP_PROCESS_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "process/snapshot.h"

/*
 * The executable mappings of a process over time: those that exist, which do not overlap, and those
 * that have ended. A process may have tens of thousands that come and go, so a change takes the
 * logarithm of their number. Mappings stay where they are until they are forgotten.
 */

struct past_mapping;

struct history {
	void *living; /* the root of a tree by address, tsearch(3) */
	size_t n_living;
	struct past_mapping *past; /* by the time at which they ended */
	size_t n_past;
	uint64_t n_ended; /* so far */
};

/*
 * Adds a mapping, and holds what it refers to. The parts of others that it covers end when it is
 * born. 0 or -ENOMEM.
 */
int history_add(struct history *history, const struct mapping *mapping);

/* The same for one that has ended, which covers none. */
int history_add_past(struct history *history, const struct mapping *mapping);

/* Ends all mappings at a time. */
void history_end(struct history *history, uint64_t time);

/* Frees those that had ended before a time. */
void history_forget(struct history *history, uint64_t before);
void history_done(struct history *history);

/*
 * The mapping that contained an address at a time, or NULL. It is looked for among those that exist
 * and the last thousands that have ended.
 */
const struct mapping *history_find(const struct history *history, uint64_t address, uint64_t time);

/*
 * Returns those that existed at a time, by address. The caller frees the array, not the mappings.
 * 0 or -ENOMEM.
 */
int history_at(const struct history *history, uint64_t time, const struct mapping ***ret,
	       size_t *ret_n);

/* Calls a function for each one, existing or not. It may change all but addresses and times. */
void history_each(const struct history *history, void (*fn)(void *arg, struct mapping *mapping),
		  void *arg);

#endif
