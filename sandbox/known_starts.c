// SPDX-License-Identifier: Apache-2.0
#include "sandbox/known_starts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "limits/limits.h"
#include "symbols/location_cache.h"

struct known_start {
	UT_hash_handle hh;
	uint64_t address, start;
	int err;
};

static struct known_start *find(const struct known_starts *starts, uint64_t address)
{
	struct known_start *known;

	HASH_FIND(hh, starts->first, &address, sizeof(address), known);
	return known;
}

int known_starts_add(struct known_starts *starts, uint64_t address, int err, uint64_t start)
{
	struct known_start *known = find(starts, address);

	if (!known) {
		known = calloc(1, sizeof(*known));
		if (!known)
			return -ENOMEM;
		if (HASH_COUNT(starts->first) == LOCATION_CACHE_MAX)
			known_starts_done(starts);
		known->address = address;
		HASH_ADD(hh, starts->first, address, sizeof(address), known);
		if (!HASH_IS_ADDED(hh, known)) {
			free(known);
			return -ENOMEM;
		}
	}
	known->err = err;
	known->start = start;
	return 0;
}

bool known_starts_find(const struct known_starts *starts, uint64_t address, int *ret_err,
		       uint64_t *ret)
{
	const struct known_start *known = find(starts, address);

	if (!known)
		return false;
	*ret_err = known->err;
	if (known->err == 0)
		*ret = known->start;
	return true;
}

void known_starts_done(struct known_starts *starts)
{
	struct known_start *known, *next;

	HASH_ITER(hh, starts->first, known, next) {
		HASH_DEL(starts->first, known);
		free(known);
	}
}
