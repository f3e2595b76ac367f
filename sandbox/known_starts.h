/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_KNOWN_STARTS_H
#define DP_SANDBOX_KNOWN_STARTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A cache of a namer's answers for one binary: where functions start, by addresses within them. At
 * LOCATION_CACHE_MAX entries, it starts again empty.
 */

struct known_start;

/* Of one binary; starts as zero. */
struct known_starts {
	struct known_start *first;
};

/*
 * Keeps what is known of an address: the start, or, if `err` is less than 0, why there is none. 0 or
 * -ENOMEM.
 */
int known_starts_add(struct known_starts *starts, uint64_t address, int err, uint64_t start);

/* Whether something is known of the address. *ret_err: as it was added; *ret: the start if it is 0. */
bool known_starts_find(const struct known_starts *starts, uint64_t address, int *ret_err,
		       uint64_t *ret);

/* Forgets all. */
void known_starts_done(struct known_starts *starts);

#endif
