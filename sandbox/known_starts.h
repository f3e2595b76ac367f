/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_KNOWN_STARTS_H
#define DP_SANDBOX_KNOWN_STARTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Where functions start, by addresses within them: what a namer has answered for one binary, so that
 * it is not asked again. LOCATION_CACHE_MAX at most: one more, and all others are forgotten.
 */

struct known_start;

/* Of one binary; zeroed if there are none. */
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
